import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.testing import make_context
from agent_tui.toolkit.text import count_lines, cut_title, display_text


@pytest.fixture(scope="module")
def source() -> ToolFileSource:
    return ToolFileSource(load_tools(tools_dir(), source="bundled").tools)


def arguments(**given: Any) -> str:
    return json.dumps(given)


def test_a30_config_gives_name_title_and_content_with_its_facts(source: ToolFileSource) -> None:
    args = arguments(file_path="src/main.rs", content="fn main() {}\n")
    result = ToolResult.success("Created src/main.rs")

    shown = source.show("write", args, result)

    assert source.display_name("write") == "Write"
    assert source.title("write", args) == "src/main.rs"
    assert isinstance(shown.content_type, ResultContentType)
    assert shown.full_length >= len("fn main() {}\n") or shown.full_length == len(result.output)


def test_a31_header_is_made_of_the_name_and_the_path(source: ToolFileSource) -> None:
    args = arguments(file_path="/src/main.rs")

    assert f"{source.display_name('read')}: {source.title('read', args)}" == "Read: /src/main.rs"


def test_a35_lines_above_do_not_count() -> None:
    shown = display_text("one\ntwo\n", above="$ cat file\n")

    assert shown.content == "$ cat file\none\ntwo\n"
    assert (shown.full_length, shown.full_lines) == (8, 2)


@pytest.mark.parametrize("char", ["é", "漢", "👩‍🚀", "\U0001f600"])
def test_a40_cut_never_splits_a_character(char: str) -> None:
    text = char * 12_000

    shown = display_text(text)

    assert shown.content.startswith(text[:10_000])
    shown.content.encode("utf-8")
    assert cut_title(char * 60).encode("utf-8")


def test_a41_length_is_characters_and_lines_stand_beside_it() -> None:
    shown = display_text("äöü\nß")

    assert (shown.full_length, shown.full_lines) == (5, 2)


@pytest.mark.parametrize(
    ("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\rb", 1), ("\n\n", 2)]
)
def test_a41_lines_end_at_newline_only(text: str, lines: int) -> None:
    assert count_lines(text) == lines


async def test_a12_time_limit_of_a_command_is_an_argument(source: ToolFileSource, workspace: Path) -> None:
    ctx = make_context(workspace)

    result = await source.execute("bash", arguments(command="sleep 987", timeout=1000), ctx)

    assert result.is_error
    assert "1 s" in result.output or "1,000 ms" in result.output or "1.0 s" in result.output

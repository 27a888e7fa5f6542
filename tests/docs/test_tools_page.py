import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.toolkit.testing import make_context

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
EXAMPLES: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def source(tmp_path: Path) -> ToolFileSource:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "wordcount.py").write_text(EXAMPLES[0])
    loaded = load_tools(folder, source="docs")
    assert not loaded.failures
    return ToolFileSource(loaded.tools, "user")


async def test_tool_of_the_page_loads_and_runs(source: ToolFileSource, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one two three")
    ctx = make_context(workspace)

    result = await source.execute("wordcount", '{"file_path": "a.txt"}', ctx)

    assert (result.output, result.is_error) == ("3 words", False)
    assert source.title("wordcount", '{"file_path": "a.txt"}') == "a.txt"
    (permission,) = source.permissions("wordcount", '{"file_path": "a.txt"}', ctx)
    assert permission.target == str(workspace / "a.txt")


def test_test_of_the_page_passes(source: ToolFileSource, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(EXAMPLES[0], names)
    exec(EXAMPLES[2], names)

    names["test_words_are_counted"](tmp_path)


def test_class_of_the_page_has_at_most_twenty_lines() -> None:
    body = EXAMPLES[0].partition("class Wordcount(")[2]

    assert body.count("\n") <= 20


async def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(EXAMPLES[1], names)

    assert await names["revision"](tmp_path) == ""
    assert re.fullmatch("[0-9a-f]{40}", await names["revision"](committed(tmp_path)))


def committed(folder: Path) -> Path:
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder

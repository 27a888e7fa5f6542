import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.testing import make_context


@pytest.fixture(scope="module")
def source() -> ToolFileSource:
    return ToolFileSource(load_tools(tools_dir(), source="bundled").tools)


async def run(source: ToolFileSource, ctx: Any, name: str, **arguments: Any) -> ToolResult:
    return await source.execute(name, json.dumps(arguments), ctx)


@pytest.mark.parametrize(("asked", "said"), [(1, "1000 ms was used"), (700_000, "600000 ms was used")])
async def test_a106_time_limit_outside_its_range_is_clamped_and_said(
    source: ToolFileSource, workspace: Path, asked: int, said: str
) -> None:
    result = await run(source, make_context(workspace), "bash", command="echo done", timeout=asked)

    assert "done" in result.output
    assert said in result.output


async def test_a106_input_is_closed_and_the_exit_code_is_named(
    source: ToolFileSource, workspace: Path
) -> None:
    result = await run(source, make_context(workspace), "bash", command="cat; exit 3")

    assert result.is_error
    assert "(exit code: 3)" in result.output


async def test_a107_directory_persists_between_calls(source: ToolFileSource, workspace: Path) -> None:
    (workspace / "a folder").mkdir()
    ctx = make_context(workspace)

    await run(source, ctx, "bash", command="cd 'a folder' && false")
    result = await run(source, ctx, "bash", command="pwd")

    assert str(workspace / "a folder") in result.output


async def test_a109_plan_is_a_todo_list_with_one_item_in_progress(
    source: ToolFileSource, workspace: Path
) -> None:
    ctx = make_context(workspace)
    steps = [
        {"content": "look", "status": "in_progress", "priority": "high"},
        {"content": "mend", "status": "pending"},
    ]

    written = await run(source, ctx, "todowrite", todos=steps)
    shown = await run(source, ctx, "todoread")

    assert not written.is_error
    assert "look" in shown.output
    assert "mend" in shown.output


@pytest.mark.parametrize("engine", ["rg", "plain"])
async def test_h40_regex_search_gives_one_answer_with_both_engines(
    source: ToolFileSource, workspace: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    if engine == "plain":
        monkeypatch.setenv("PATH", "/nonexistent")
    (workspace / "a.py").write_text("def one():\n    return 1\n")
    (workspace / "b.txt").write_text("def two(): pass\n")

    result = await run(source, make_context(workspace), "grep", pattern=r"def \w+\(", glob="*.py")
    literal = await run(source, make_context(workspace), "grep", pattern="def \\w", literal=True)

    assert "a.py" in result.output
    assert "b.txt" not in result.output
    assert not literal.is_error
    assert "a.py" not in literal.output

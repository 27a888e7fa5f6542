import asyncio
import os
from dataclasses import replace
from pathlib import Path

from agent_tui.conversation.person_shell import PersonShell
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.events import ToolFinished, ToolOutput
from agent_tui.toolkit.testing import RecordingSink, make_context
from tests.support.patience import PATIENCE_S
from tests.support.tool_world import own_tools, processes_with


def person_shell(tmp_path: Path, said: RecordingSink, told: list[str]) -> PersonShell:
    (tmp_path / "project").mkdir()
    context = make_context(tmp_path / "project")
    return PersonShell(
        ToolFileSource([own_tools()["bash"]]),
        lambda call_id, _turn_id: replace(context, call_id=call_id),
        said,
        told.append,
    )


async def test_a_line_that_the_person_ended_says_so_to_both_and_how_long_it_ran(tmp_path: Path) -> None:
    said, told = RecordingSink(), list[str]()
    shell = person_shell(tmp_path, said, told)

    line = asyncio.create_task(shell.run("echo begun; exec sleep 1000", private=False))
    await said.until(ToolOutput, timeout_s=PATIENCE_S)
    line.cancel()
    await asyncio.wait({line})

    assert line.cancelled()
    finished = said.events[-1]
    assert isinstance(finished, ToolFinished)
    assert finished.effect == "cancelled"
    assert "begun" in finished.output
    assert "(ended by the person)" in told[0]
    assert "[stopped after " in finished.display.content


async def test_closing_ends_a_line_that_runs_and_waits_for_its_end(tmp_path: Path) -> None:
    said = RecordingSink()
    shell = person_shell(tmp_path, said, [])
    mark = f"987.{os.getpid()}"
    line = asyncio.create_task(shell.run(f"echo begun; exec sleep {mark}", private=False))
    await said.until(ToolOutput, timeout_s=PATIENCE_S)

    await shell.aclose()

    assert line.done()
    assert not processes_with(mark)
    assert isinstance(said.events[-1], ToolFinished)

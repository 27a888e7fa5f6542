import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.dispatch import run_tool
from tests.support.patience import PATIENCE_S, until
from tests.support.tool_world import ToolWorld, make_world, processes_with


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


@pytest.mark.parametrize(
    "command",
    [
        "echo before; sleep 987.8",
        "echo before >&2; trap '' TERM; sleep 987.8",
        "echo before; setsid sleep 987.8 | cat",
    ],
)
async def test_item_45_a_stopped_command_keeps_what_it_printed(world: ToolWorld, command: str) -> None:
    stop = StopSignal()
    running = asyncio.create_task(
        run_tool(Workers(), "bash", world.bash(command), limit_s=0, stop=stop, finish_s=0.0)
    )
    await until(lambda: "before" in "".join(world.live) and processes_with("sleep\x00987.8"))
    stop.press()

    ran = await running

    assert ran.effect == "cancelled"
    assert ran.result.is_error
    assert ran.result.output.startswith("before\n")
    assert "Stopped by the user" in ran.result.output
    assert not processes_with("987.8")


async def test_ba_02_the_time_limit_holds_though_every_pipe_is_held(world: ToolWorld) -> None:
    command = "for i in 1 2 3; do setsid sh -c 'exec 3>&1; sleep 987.9' & done; echo go; sleep 987.9"

    async with asyncio.timeout(2 * PATIENCE_S):
        result = await world.timed_out(command, said="go")

    assert result.is_error
    assert result.output.startswith("go\n")
    assert not processes_with("987.9")


@pytest.mark.parametrize("stream", ["1", "2"])
async def test_ba_11_what_was_cut_is_found_in_the_file_also_after_the_time_limit(
    world: ToolWorld, stream: str
) -> None:
    command = f"seq 1 20000 >&{stream}; echo FATAL: boom >&{stream}; sleep 987.7"

    result = await world.timed_out(command, said="FATAL: boom")

    path = Path(str(result.data["log_path"]))
    assert "FATAL: boom" in result.output
    assert str(path) in result.output
    assert path.read_text().splitlines()[9_999] == "10000"


async def test_ba_16_nothing_of_our_own_run_reaches_a_job(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLUMNS", "LINES", "COLORTERM", "PYTHONPATH", "PYTHONHOME", "LD_PRELOAD"):
        monkeypatch.setenv(name, "/ours")

    started = await world.bash("env", run_in_background=True)
    job_id = str(started.data["job_id"])
    said = ""
    async with asyncio.timeout(PATIENCE_S):
        while "AGENT_TUI_CHILD" not in said or "TERM=" not in said:
            said += (await world.run("bash_output", job_id=job_id)).output
            await asyncio.sleep(0.01)

    assert "=/ours" not in said
    assert "TERM=dumb" in said

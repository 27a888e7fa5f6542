import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.jobs import RUNNING_LIMIT
from agent_tui.toolkit.line_filter import matching_lines
from agent_tui.toolkit.output import OutputLog
from tests.support.patience import PATIENCE_S, until
from tests.support.tool_world import ToolWorld, gone, make_world, own, processes_with


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


async def read_until(world: ToolWorld, job_id: str, text: str) -> str:
    seen = ""
    async with asyncio.timeout(PATIENCE_S):
        while text not in seen:
            seen += (await world.run("bash_output", job_id=job_id)).output
            await asyncio.sleep(0.01)
    return seen


def log_of(world: ToolWorld) -> str:
    """What the first running job wrote."""
    path = world.jobs.running()[0].log_path
    return Path(path).read_text() if path else ""


async def test_a_job_outlives_its_call_and_gives_what_is_new(world: ToolWorld) -> None:
    started = await world.bash(
        "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3", run_in_background=True
    )
    first = await read_until(world, "job-1", "one")
    world.put("go")
    second = await read_until(world, "job-1", "has ended")

    assert "Started in the background as job-1" in started.output
    assert "(job-1 is running)" in first
    assert "one" not in second.replace("job-1", "")
    assert "two\n" in second
    assert "(exit code: 3)" in second
    assert (await world.run("bash_output", job_id="job-1")).output.startswith(
        "(no new output)\n(job-1 has ended)"
    )


async def test_a_failed_job_is_an_error_and_a_killed_one_is_not(world: ToolWorld) -> None:
    await world.bash("exit 3", run_in_background=True)
    await world.bash("echo hi; sleep 987.1", run_in_background=True)
    await read_until(world, "job-1", "has ended")
    await read_until(world, "job-2", "hi")

    failed = await world.run("bash_output", job_id="job-1")
    killed = await world.run("bash_kill", job_id="job-2")

    assert (failed.is_error, killed.is_error) == (True, False)
    assert "killed by signal 15, SIGTERM" in killed.output
    assert await gone("987.1")


async def test_kill_ends_the_whole_group(world: ToolWorld) -> None:
    await world.bash(
        "sleep 987.2 & setsid sleep 987.2 & trap '' TERM; echo up; sleep 987.2", run_in_background=True
    )
    await read_until(world, "job-1", "up")

    await world.run("bash_kill", job_id="job-1")

    assert not processes_with("987.2")


@pytest.mark.parametrize("tool", ["bash_output", "bash_kill"])
async def test_an_unknown_job_lists_those_there_are(world: ToolWorld, tool: str) -> None:
    nothing = await world.run(tool, job_id="job-1")
    await world.bash("true", run_in_background=True)
    other = await world.run(tool, job_id="x")

    assert nothing.is_error
    assert "none was started" in nothing.output
    assert "jobs: job-1" in other.output


async def test_a_pattern_chooses_lines_and_the_rest_counts_as_read(world: ToolWorld) -> None:
    await world.bash("seq 1 30; echo end; sleep 987.3", run_in_background=True)
    await until(lambda: "end" in log_of(world))

    chosen = await world.run("bash_output", job_id="job-1", pattern="^.*9$")
    rest = await world.run("bash_output", job_id="job-1")

    assert chosen.output.startswith("9\n19\n29\n(job-1 is running)")
    assert rest.output.startswith("(no new output)")


@pytest.mark.parametrize("pattern", ["(", "[a"])
async def test_an_invalid_pattern_is_explained(world: ToolWorld, pattern: str) -> None:
    await world.bash("echo x", run_in_background=True)
    await read_until(world, "job-1", "x")

    assert (
        "Invalid regular expression"
        in (await world.run("bash_output", job_id="job-1", pattern=pattern)).output
    )


async def test_a_catastrophic_pattern_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"{'a' * 40}b\n")

    with pytest.raises(ToolError, match="took longer"):
        await matching_lines(str(path), "(a+)+$", start=0, end=99, timeout_s=0.5)


async def test_a_running_call_goes_to_the_background_when_asked(world: ToolWorld) -> None:
    call = asyncio.create_task(world.bash("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two"))
    await until(lambda: world.live)

    assert world.jobs.to_background("c1")
    moved = await call
    world.put("go")
    rest = await read_until(world, "job-1", "has ended")

    assert moved.output.startswith("one\n(sent to the background as job-1;")
    assert not moved.is_error
    assert "two\n" in rest
    assert "one" not in rest
    assert "".join(world.live) == "one\n"
    assert not world.jobs.to_background()


async def test_a_job_does_not_move_the_working_directory(world: ToolWorld) -> None:
    (world.root / "sub").mkdir()
    await world.bash("cd sub", run_in_background=True)
    await read_until(world, "job-1", "has ended")

    assert world.ctx.shell.cwd == world.root


async def test_nothing_survives_the_end_of_the_session(world: ToolWorld) -> None:
    for _ in range(3):
        await world.bash("sleep 987.5 & trap '' TERM; sleep 987.5", run_in_background=True)
    await until(lambda: len(processes_with("sleep\x00987.5")) == 6)

    await world.jobs.close()

    assert not processes_with("987.5")
    assert world.jobs.running() == []


async def test_there_is_a_limit_to_running_jobs(world: ToolWorld) -> None:
    for _ in range(RUNNING_LIMIT):
        await world.bash("sleep 987.6", run_in_background=True)

    result = await world.bash("sleep 987.6", run_in_background=True)

    assert result.is_error
    assert "bash_kill" in result.output


async def test_a_job_that_cannot_start_is_an_error_at_once(world: ToolWorld) -> None:
    assert (await world.bash("", run_in_background=True)).is_error


async def test_a_flood_of_output_is_cut_and_kept_in_the_file(world: ToolWorld) -> None:
    await world.bash("seq 1 50000; sleep 987.7", run_in_background=True)
    await until(lambda: log_of(world).endswith("50000\n"))

    result = await world.run("bash_output", job_id="job-1")

    assert len(result.output) < 32_000
    assert "left out; the whole output is in" in result.output


async def test_output_that_is_not_in_its_file_yet_is_read(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, write = asyncio.Event(), OutputLog._write

    async def slow(log: OutputLog) -> None:
        await gate.wait()
        await write(log)

    monkeypatch.setattr(OutputLog, "_write", slow)
    await world.bash("echo hi; sleep 987.9", run_in_background=True)
    log = world.jobs._jobs["job-1"].shell.log
    await until(lambda: log.bytes == 3)
    read = await world.run("bash_output", job_id="job-1")
    gate.set()
    await world.run("bash_kill", job_id="job-1")

    assert read.output.startswith("hi\n")


async def test_panels_and_summaries(world: ToolWorld) -> None:
    await world.bash("echo hi; sleep 987.8", run_in_background=True)
    await until(lambda: log_of(world) == "hi\n")
    read = await world.run("bash_output", job_id="job-1")
    killed = await world.run("bash_kill", job_id="job-1")

    shown = world.shown("bash_output", read, job_id="job-1")
    assert shown.content_type is ResultContentType.TERMINAL
    assert shown.content == own("$ echo hi; sleep 987.8\nhi\n[running]")
    assert world.summary("bash_output", read, job_id="job-1") == "[BashOutput: job-1 (running)]"
    assert world.shown("bash_kill", killed, job_id="job-1").content.endswith("[exit code: 143]")
    assert world.summary("bash_kill", killed, job_id="job-1") == "[BashKill: job-1 (ended)]"

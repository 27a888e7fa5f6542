import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.protocol.tools import ToolResult
from tests.support.patience import PATIENCE_S, until, until_now
from tests.support.tool_world import ToolWorld, body, gone, make_world, notes, own, processes_with


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


async def returned(world: ToolWorld, command: str) -> ToolResult:
    """Run what leaves something behind that goes on for much longer than anybody waits here."""
    async with asyncio.timeout(PATIENCE_S):
        return await world.bash(command, timeout=600_000)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 987 & echo done",
        "python3 -m http.server 0 >/dev/null & echo done",
        "(while :; do echo tick; sleep 0.1; done) & echo done",
        "nohup sleep 987 >/dev/null 2>&1 & echo done",
        "setsid sleep 987 & echo done",
        "(sleep 987; echo late) & disown; echo done",
        "coproc sleep 987; echo done",
    ],
)
async def test_ba_01_returns_soon_after_the_shell_exits(world: ToolWorld, command: str) -> None:
    result = await returned(world, command)

    assert "done" in body(result)
    assert not result.is_error
    assert "still running when the command ended" in result.output


async def test_item_44_sleep_in_the_background_returns_at_once_and_is_ended(world: ToolWorld) -> None:
    result = await returned(world, "sleep 987.1 &")

    assert own("sleep 987.1") in result.output
    assert await gone("987.1")


async def test_ba_02_timeout_holds_whoever_has_the_pipe(world: ToolWorld) -> None:
    async with asyncio.timeout(PATIENCE_S):
        result = await world.bash("setsid sh -c 'sleep 987.2' ; true", timeout=1000)

    assert result.is_error
    assert "timed out after 1 s" in result.output
    assert await gone("987.2")


async def test_ba_02_double_fork_outside_the_group_is_ended_too(world: ToolWorld) -> None:
    command = "python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(987.3)'; echo go"

    result = await returned(world, command)

    assert body(result) == "go\n"
    assert await gone("987.3")


@pytest.mark.parametrize(
    "command",
    [
        "echo begin; for i in 1 2; do (while :; do : 987.4; done) & done; sleep 987.4",
        "echo begin; yes 987.4 | sha256sum | cat",
        "echo begin; bash -c 'trap \"\" TERM; sleep 987.4 & wait'",
    ],
)
async def test_ba_03_timeout_ends_every_descendant_and_keeps_what_was_printed(
    world: ToolWorld, command: str
) -> None:
    result = await world.timed_out(command, said="begin")

    assert body(result).startswith("begin\n")
    assert result.data["timed_out"] is True
    assert not processes_with("987.4")


async def test_item_45_h17_timeout_gives_the_process_time_to_tidy_up(world: ToolWorld) -> None:
    result = await world.timed_out(
        "trap 'echo tidy; exit 4' TERM; echo begin; sleep 987 & wait", said="begin"
    )

    assert "begin\ntidy\n" in result.output
    assert "exit code: 4" in result.output


@pytest.mark.parametrize("asked", [0, -5, 999, 700_000, 10**12])
async def test_item_45_h13_timeout_out_of_range_is_clamped_and_said(world: ToolWorld, asked: int) -> None:
    used = 1000 if asked < 1000 else 600_000

    result = await world.bash("echo hi", timeout=asked)

    assert f"timeout {asked} ms is out of range, {used} ms was used" in notes(result)


async def test_item_45_timeout_as_text_is_a_number_or_refused(world: ToolWorld) -> None:
    assert not (await world.bash("echo hi", timeout="5000")).is_error
    with pytest.raises(ValueError, match="timeout"):
        await world.bash("echo hi", timeout="soon")


async def test_cancel_ends_the_group_and_reaps(world: ToolWorld) -> None:
    call = asyncio.create_task(world.bash("sleep 987.5 & setsid sleep 987.5 & sleep 987.5"))
    await until(lambda: len(processes_with("sleep\x00987.5")) == 3)
    call.cancel()
    await call

    assert not processes_with("987.5")


def test_the_panel_of_a_stopped_command_says_after_how_long(workspace: Path) -> None:
    stopped = ToolResult(output="stopped by user", is_error=True, data={"ended_after_s": 2.7})

    shown = make_world(workspace).shown("bash", stopped, command="sleep 60")

    assert shown.summary == "stopped, 1 line"
    assert shown.content.endswith("[stopped after 2.7 s]")


async def test_killing_its_own_supervisor_is_survived(world: ToolWorld) -> None:
    result = await returned(world, "kill -9 $PPID; sleep 987.6")

    assert result.is_error
    assert await gone("987.6")


def test_nothing_survives_kill_9_of_the_program(workspace: Path) -> None:
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from agent_tui.toolkit.testing import make_context\n"
        "from agent_tui.toolkit.shell import start_shell\n"
        "async def main():\n"
        f"    ctx = make_context(Path({str(workspace)!r}))\n"
        + own(
            "    s = await start_shell('sleep 987.7 & setsid nohup sleep 987.7 & trap \"\" TERM HUP; sleep 987.7', ctx)\n"
        )
        + "    await s.command.wait()\n"
        "asyncio.run(main())\n"
    )
    program = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    try:
        until_now(lambda: len(processes_with("sleep\x00987.7")) == 3)
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()

    assert asyncio.run(gone("987.7"))


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "read x; echo $x",
        "python3 -c 'input()'",
        "tty",
        "sudo -n true",
        "vim -c q",
        "less /etc/hosts",
        "man bash | head -1",
        "ssh -o BatchMode=yes nohost.invalid true",
        "top -b -n1 | head -1",
        "yes | head -1",
    ],
)
async def test_item_48_commands_that_want_a_terminal_return(world: ToolWorld, command: str) -> None:
    result = await world.bash(command, timeout=60_000)

    assert not result.data.get("timed_out")


@pytest.mark.parametrize(
    ("command", "fails"),
    [
        ("git commit", True),
        ("git commit --amend", True),
        ("git log -p | cat; git log", True),
        ("git commit --allow-empty -qm x && git rebase -i HEAD", False),
        ("EDITOR=vi crontab -e", True),
    ],
)
async def test_ba_08_editors_and_pagers_do_not_hang(world: ToolWorld, command: str, fails: bool) -> None:
    await world.bash("git init -q .; touch f; git add f")

    result = await world.bash(command, timeout=60_000)

    assert not result.data.get("timed_out")
    assert result.is_error == fails


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("printf 'a\\xff\\xf0b\\n'", "a\ufffd\ufffdb\n"),
        ("printf '\\xe6\\xb1'; sleep 0.2; printf '\\x89\\n'", "汉\n"),
        ("printf '\\xf0\\x9f'; sleep 0.1; printf '\\x98\\x80\\n'", "😀\n"),
        ("printf 'cut\\xe6'", "cut\ufffd\n"),
    ],
)
async def test_ba_09_bytes_that_are_no_utf8_become_replacement_characters(
    world: ToolWorld, command: str, shown: str
) -> None:
    assert body(await world.bash(command)) == shown


async def test_ba_09_a_binary_does_not_raise(world: ToolWorld) -> None:
    result = await world.bash("head -c 3000 /bin/ls")

    assert not result.is_error
    assert "\0" not in result.output

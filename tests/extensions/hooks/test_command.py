import asyncio
import json
import os
from pathlib import Path

import pytest

from agent_tui.extensions.hooks.command import CHANGED
from agent_tui.extensions.hooks.events import EventName, HookAnswer, HookEvent, HookFailed
from agent_tui.toolkit.environment import child_environment
from tests.support.hook_world import PYTHON, HookWorld, say, tool_event
from tests.support.patience import PATIENCE_S, until
from tests.support.start_world import all_gone


@pytest.fixture
def world(workspace: Path) -> HookWorld:
    return HookWorld(workspace)


def pids_of(world: HookWorld, name: str) -> list[int]:
    """What a hook noted in a file, whole lines only."""
    file = world.workspace / name
    return [int(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


async def test_a_hook_reads_the_event_as_json_in_the_project(world: HookWorld) -> None:
    await world.hook("pre_tool", "cat > told; pwd > where").on(tool_event(session_id="s"))

    told = json.loads((world.workspace / "told").read_text())
    assert (world.workspace / "where").read_text().strip() == str(world.workspace)
    assert told == {
        "event": "pre_tool",
        "hook_event_name": "PreToolUse",
        "workspace": str(world.workspace),
        "session_id": "s",
        "tool_name": "bash",
        "tool_input": {"command": "ls"},
        "call_id": "c0",
    }


@pytest.mark.parametrize(
    ("matcher", "tool", "wanted"),
    [
        ("", "bash", True),
        ("*", "bash", True),
        ("Bash", "bash", True),
        ("edit | bash", "bash", True),
        ("edit", "bash", False),
        ("mcp__*", "mcp__db__query", True),
        ("mcp__*", "bash", False),
        ("ba", "bash", False),
    ],
)
def test_x13_a_matcher_names_tools(world: HookWorld, matcher: str, tool: str, wanted: bool) -> None:
    hook = world.hook("pre_tool", "true", matcher=matcher)

    assert hook.wants(tool_event(tool=tool)) is wanted
    assert not hook.wants(tool_event("post_tool", tool))


async def test_x31_a_hook_that_takes_too_long_is_killed_with_what_it_started(world: HookWorld) -> None:
    command = "sleep 300 & echo $! >> pids; echo $$ >> pids; wait"
    for limit_s in (1, 5, 60):  # it must have begun, which is soon, but not on a busy machine
        with pytest.raises(HookFailed, match=f"no answer within {limit_s} s"):
            await world.hook("pre_tool", command, timeout_s=float(limit_s)).on(tool_event())
        if len(pids := pids_of(world, "pids")) >= 2:
            break

    assert len(pids) >= 2
    assert await all_gone(pids)


async def test_a_hook_is_over_when_its_command_is_whatever_it_left_running(world: HookWorld) -> None:
    hook = world.hook("pre_tool", f"sleep 300 & echo $! > child; {say('{}')}", timeout_s=60.0)

    assert await hook.on(tool_event()) == HookAnswer()

    assert await all_gone(pids_of(world, "child"))


async def test_a_cancelled_wait_ends_the_hook(world: HookWorld) -> None:
    hook = world.hook("pre_tool", "echo $$ > own; sleep 300", timeout_s=60.0)
    asking = asyncio.create_task(hook.on(tool_event()))
    await until(lambda: pids_of(world, "own"))

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert await all_gone(pids_of(world, "own"))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("exit 1", "exit code 1"),
        ("no-such-program-here", "exit code 127"),
        (f"{PYTHON} -c \"print('x' * 300_000)\"", "more than 262,144 bytes"),
        ("kill -9 $$", "signal 9"),
    ],
)
async def test_what_goes_wrong_is_a_failure_with_its_reason(
    world: HookWorld, command: str, words: str
) -> None:
    with pytest.raises(HookFailed, match=words):
        await world.hook("pre_tool", command, timeout_s=60.0).on(tool_event())


async def test_a_hook_need_not_read_what_it_is_told(world: HookWorld) -> None:
    big = tool_event(tool_input={"content": "x" * 1_000_000})

    assert await world.hook("pre_tool", "echo no >&2; exit 2", timeout_s=60.0).on(big) == HookAnswer(
        decision="deny", reason="no"
    )


async def test_a_hook_that_cannot_be_used_says_why(world: HookWorld) -> None:
    with pytest.raises(HookFailed, match="it cannot be used: command is missing"):
        await world.hook("pre_tool", "", fault="command is missing").on(tool_event())


async def test_h_p2_a_project_hook_does_not_run_once_the_project_changed(workspace: Path) -> None:
    changed = HookWorld(workspace, holds=False)

    with pytest.raises(HookFailed, match=CHANGED):
        await changed.hook("pre_tool", "touch ran", origin="project").on(tool_event())
    await changed.hook("pre_tool", "touch user", origin="user").on(tool_event())

    assert sorted(path.name for path in workspace.iterdir()) == ["user"]


async def test_h_p6_a_hook_sees_no_key_and_knows_that_it_is_a_child(workspace: Path) -> None:
    base = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/me",
        "ANTHROPIC_API_KEY": "sk-1",
        "MY_TOKEN": "t",
        "DB_PASSWORD": "p",
        "AWS_SECRET": "s",
        "CREDENTIALS": "c",
        "AGENT_TUI_PROVIDER": "offline",
        "REMOTE": "https://me:word@example.org",
    }
    world = HookWorld(workspace, env=child_environment(workspace, base=base).variables)

    await world.hook("session_start", "env > seen").on(HookEvent(EventName.SESSION_START, {}))

    seen = dict(line.split("=", 1) for line in (workspace / "seen").read_text().splitlines() if "=" in line)
    assert seen["AGENT_TUI_CHILD"] == "1"
    assert seen["HOME"] == "/home/me"
    assert not {name for name in seen if any(w in name for w in ("KEY", "TOKEN", "SECRET", "PASS", "CRED"))}
    assert not {"REMOTE", "AGENT_TUI_PROVIDER"} & set(seen)


async def test_a_hook_cancelled_while_it_starts_leaves_nothing_behind(world: HookWorld) -> None:
    for turns in range(12):
        asking = asyncio.create_task(
            world.hook("pre_tool", f"echo $$ > own{turns}; sleep 300; true", timeout_s=60.0).on(tool_event())
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        asking.cancel()
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(asyncio.CancelledError):
                await asking

    for file in world.workspace.glob("own*"):
        assert await all_gone(pids_of(world, file.name))

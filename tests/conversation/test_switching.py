"""What one session leaves to the next, what a switch that fails leaves behind, and how everything is closed."""

import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.errors import BadResponse, ToolLoadError
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers.scripted import ScriptedProvider, calls, text, use
from agent_tui.sessions.session import Session
from tests.support.core_world import CoreWorld, audit, configure, open_core

TOUCH = use("bash", {"command": "touch made"})


def answering(world: CoreWorld, *replies: object) -> None:
    """Let a script answer in the session that is open now."""
    world.provider = ScriptedProvider(list(replies))
    world.core.agent.provider = world.provider


def shell_rule(world: CoreWorld) -> bool:
    return any(rule.text == "Bash(touch *)" for rule in world.core.rules())


def said_at_the_end(workspace: Path) -> list[str]:
    ended = workspace / "ended"
    return ended.read_text().splitlines() if ended.exists() else []


@pytest.mark.parametrize("shell_line", [True, False])
async def test_what_waits_for_the_model_waits_on_when_its_prompt_is_given_back(
    workspace: Path, shell_line: bool
) -> None:
    async with open_core(workspace, BadResponse("no such thing"), text("one"), text("two")) as world:
        if shell_line:
            await world.core.house.run_shell("echo pet'als'", private=False)
        else:
            world.core._session.told.add("There are petals.")
        await world.core.run_turn("first")
        await world.core.run_turn("again")
        after_return = world.words()
        await world.core.run_turn("third")

        assert len(world.failures) == 1
        assert "petals" in after_return
        assert "petals" not in world.words()


async def test_a_grant_for_the_session_ends_with_it_and_its_successor_is_named_in_the_audit(
    workspace: Path,
) -> None:
    async with open_core(workspace, calls(TOUCH), text("done")) as world:
        first = world.core.status().session_id
        await world.core.house.keeping.add_rule("allow", "Bash(touch *)", "session")
        await world.core.run_turn("touch it")
        granted = list(world.approver.asked), bool(world.core.rulings.recent())
        await world.core.new_session()
        left = shell_rule(world), bool(world.core.rulings.recent())
        answering(world, calls(TOUCH), text("done"))
        await world.core.run_turn("touch it again")
        second = world.core.status().session_id
        await world.core.resume(first)

        assert granted == ([], True)
        assert left == (False, False)
        assert len(world.approver.asked) == 1
        assert [line["session_id"] for line in audit()] == [first, second]
        assert world.core.rulings.recent() == []


@pytest.mark.parametrize("fork", [True, False])
async def test_the_audit_of_a_run_that_goes_on_names_the_session_that_is_open(
    workspace: Path, fork: bool
) -> None:
    async with open_core(workspace, text("one")) as world:
        await world.core.run_turn("first")
        first = world.core.status().session_id
    async with open_core(
        workspace, calls(TOUCH), text("done"), continue_last=True, fork_session=fork
    ) as world:
        await world.core.run_turn("touch it")
        opened = world.core.status().session_id

        assert (opened != first) == fork
        assert [line["session_id"] for line in audit()] == [opened]


async def test_an_added_folder_can_be_read_in_every_session_of_the_run(
    workspace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "note.txt").write_text("petals\n")
    async with open_core(workspace) as world:
        await world.core.house.keeping.add_folder(str(folder))
        forgotten = world.core.house.keeping.forget_session_rules()
        await world.core.new_session()
        answering(world, calls(use("read", {"file_path": str(folder / "note.txt")})), text("done"))
        await world.core.run_turn("look")

        assert forgotten.startswith("0 grants ")
        assert "petals" in world.words()
        assert world.approver.asked == []


async def test_a_session_that_cannot_be_opened_is_left_unlocked_and_the_old_one_goes_on(
    workspace: Path,
) -> None:
    configure('[[hooks.session_end]]\ncommand = "echo ended >> ended"\n')
    async with open_core(workspace, text("one")) as world:
        await world.core.run_turn("first")
        first = world.core.status().session_id
        await world.core.new_session()
        second = world.core.status().session_id
        ends, waits = said_at_the_end(workspace), world.core._desk.waits
        world.core._granted.allow_host("example.org")
        open_session = world.core._open_session

        async def broken(record: Session) -> object:
            await open_session(record)
            raise ToolLoadError("it is broken", path=workspace)

        world.core._open_session = broken
        with pytest.raises(ToolLoadError):
            await world.core.resume(first)
        after = world.core.status().session_id, said_at_the_end(workspace), world.core._granted.allowed()
        listens = world.core._desk.waits
        world.core._open_session = open_session
        said = await world.core.resume(first)

        assert after == (second, ends, [("host", "example.org")])
        assert listens == waits
        assert "another program" not in said
        assert world.core.status().session_id == first
        assert len(said_at_the_end(workspace)) == len(ends) + 1
        assert world.core._granted.allowed() == []


async def test_a_todo_list_that_cannot_be_understood_is_left_out_and_said(workspace: Path) -> None:
    async with open_core(workspace, text("one")) as world:
        await world.core.run_turn("first")
        await world.core._session.record.todos_changed([{"strange": True}])
        first = world.core.status().session_id
    async with open_core(workspace, resume=first) as world:
        assert world.core.todos == ()
        assert any("could not be understood" in said for said in world.core.notices())


async def test_the_session_is_saved_whatever_else_cannot_be_closed(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Slow(ScriptedProvider):
        async def aclose(self) -> None:
            await asyncio.Event().wait()

    async def fail() -> None:
        raise RuntimeError("it will not end")

    async with open_core(workspace, text("one")) as world:
        await world.core.run_turn("first")
        first = world.core.status().session_id
        world.core.servers.aclose = fail
        world.core.agent.provider = Slow([])

    assert [record.getMessage() for record in caplog.records] == ["while closing"] * 2
    async with open_core(workspace, resume=first) as world:
        assert [message.role for message in world.core.agent.history] == ["user", "assistant"]


@pytest.mark.parametrize("turn_ends", [True, False])
async def test_what_was_pinned_between_two_turns_is_no_turn_that_was_interrupted(
    workspace: Path, turn_ends: bool
) -> None:
    async with open_core(workspace, text("one"), calls(TOUCH)) as world:
        await world.core.run_turn("first")
        await world.core.talk.pin("Use tabs.")
        session_id = world.core.status().session_id
        if not turn_ends:
            await world.core._session.record.user_message(
                UserMessage(content=(TextBlock(text="go"),)), turn_id="t", text="go"
            )
    async with open_core(workspace, resume=session_id) as world:
        interrupted = any("was interrupted" in said for said in world.core.notices())

        assert interrupted != turn_ends
        assert list(world.core.talk.pins()) == ["Use tabs."]

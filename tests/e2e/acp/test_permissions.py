import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import FileEditToolCallContent, PermissionOption, ToolCallUpdate

from tests.e2e.conftest import Place
from tests.support.acp_editor import editor

OFFLINE = ("--provider", "offline")
WRITE = "create new.txt with hello"
ROUND = "\n".join(
    f"call write {json.dumps({'file_path': f'{name}.txt', 'content': name})}" for name in ("a", "b", "c")
)


def picks(option_id: str | None) -> Any:
    return lambda _call, _options: option_id


async def test_an_allowed_call_runs_and_its_request_shows_the_diff(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        one.hold = asyncio.Event()
        running = asyncio.create_task(one.say(session_id, WRITE))
        await one.until(lambda: one.asked)
        assert not (place.project / "new.txt").exists()
        one.hold.set()
        done = await running

    assert done.stop_reason == "end_turn"
    assert (place.project / "new.txt").read_text() == "hello\n"
    [(_, call, options)] = one.asked
    diff = FileEditToolCallContent(
        type="diff", path=str(place.project / "new.txt"), old_text=None, new_text="hello\n"
    )
    assert call.content == [diff]
    assert (call.kind, call.status, call.tool_call_id) == (
        "edit",
        "pending",
        one.told("tool_call")[0].tool_call_id,
    )
    assert [option.kind for option in options] == [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
    ]
    assert one.statuses() == ["pending", "in_progress", "completed"]
    assert one.told("tool_call_update")[-1].content == [diff]


async def test_the_diff_of_an_edit_has_the_text_before_and_after(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.say(session_id, "replace petals with leaves in README.md")

    [(_, call, _)] = one.asked
    [diff] = call.content or []
    assert isinstance(diff, FileEditToolCallContent)
    assert (diff.path, diff.old_text) == (str(place.project / "README.md"), "# Sunflower\n\nCounts petals.\n")
    assert diff.new_text == "# Sunflower\n\nCounts leaves.\n"
    assert call.locations is not None
    assert call.locations[0].line == 1
    assert one.told("tool_call_update")[-1].content == call.content


@pytest.mark.parametrize("chosen", ["reject_once", None, "no such option"])
async def test_a_rejected_or_cancelled_call_does_not_run_and_the_turn_goes_on(
    place: Place, chosen: str | None
) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        one.choose = picks(chosen)
        session_id = await one.open(place.project)
        done = await one.say(session_id, WRITE)

    assert done.stop_reason == "end_turn"
    assert not (place.project / "new.txt").exists()
    assert one.statuses() == ["pending", "failed"]
    assert place.grants() == ""


async def test_a_round_asks_for_all_its_calls_at_once_and_each_has_its_own_answer(place: Place) -> None:
    def choose(call: ToolCallUpdate, _options: Sequence[PermissionOption]) -> str:
        return "reject_once" if "b.txt" in (call.title or "") else "allow_once"

    async with editor(place.env(), *OFFLINE) as one:
        one.choose, one.hold = choose, asyncio.Event()
        session_id = await one.open(place.project)
        running = asyncio.create_task(one.say(session_id, ROUND))
        await one.until(lambda: len(one.asked) == 3)  # all in flight, none answered
        one.hold.set()
        await running

    assert [(place.project / f"{name}.txt").exists() for name in ("a", "b", "c")] == [True, False, True]


async def test_always_holds_for_the_project_and_is_not_asked_again(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        one.choose = picks("allow_always")
        session_id = await one.open(place.project)
        await one.say(session_id, "create src/one.txt with 1")
        assert len(one.asked) == 1
        assert one.asked[0][2][1].name == "Always allow Edit(/src/one.txt) in this project"
        await one.say(session_id, "replace 1 with 2 in src/one.txt")
        another = await one.open(place.project)
        await one.say(another, "replace 2 with 3 in src/one.txt")
        assert len(one.asked) == 1

        one.choose = picks("reject_always")
        await one.say(session_id, "run mkdir out")
        await one.say(session_id, "run mkdir in")
        assert len(one.asked) == 2

    assert (place.project / "src" / "one.txt").read_text().strip() == "3"
    assert not (place.project / "out").exists()
    assert not (place.project / "in").exists()
    assert "Edit(/src/one.txt)" in place.grants()


async def test_what_is_risky_is_said_and_never_allowed_for_always(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        one.choose = picks("reject_once")
        session_id = await one.open(place.project)
        await one.say(session_id, f"read {place.home}/.ssh/id_rsa")
        await one.say(session_id, "run agent-tui approvals allow 1")

    for _, call, options in one.asked:
        assert "allow_always" not in [option.option_id for option in options]
        assert "High risk" in str(call.content)
    assert one.asked


async def test_cancel_while_a_request_is_open_ends_the_turn(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        one.hold = asyncio.Event()
        session_id = await one.open(place.project)
        running = asyncio.create_task(one.say(session_id, ROUND))
        await one.until(lambda: len(one.asked) == 3)
        await one.agent.cancel(session_id=session_id)
        done = await running
        one.choose = picks("allow_once")  # an answer that comes too late lets nothing run
        one.hold.set()
        again = await one.say(session_id, "hello")

    assert done.stop_reason == "cancelled"
    assert again.stop_reason == "end_turn"
    assert not list(place.project.glob("*.txt"))


async def test_cancel_stops_a_running_command(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        running = asyncio.create_task(one.say(session_id, "run echo begun; sleep 300"))
        await one.until(lambda: any("begun" in str(u.content) for u in one.told("tool_call_update")))
        await one.agent.cancel(session_id=session_id)
        done = await running

    assert done.stop_reason == "cancelled"
    assert one.statuses()[-1] == "failed"


async def test_cancel_without_a_turn_does_nothing(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.agent.cancel(session_id=session_id)
        await one.agent.cancel(session_id="nowhere")

        assert (await one.say(session_id, "hello")).stop_reason == "end_turn"


async def test_the_program_ends_with_its_editor_also_in_the_middle_of_a_request(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        one.hold = asyncio.Event()
        session_id = await one.open(place.project)
        running = asyncio.create_task(one.say(session_id, WRITE))
        await one.until(lambda: one.asked)

    assert one.process.returncode == 0
    with pytest.raises(ConnectionError):
        await running
    assert not (place.project / "new.txt").exists()


async def test_modes_are_offered_switched_and_told(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        opened = await one.agent.new_session(cwd=str(place.project), mcp_servers=[])
        assert opened.modes is not None
        assert opened.modes.current_mode_id == "default"
        assert [mode.id for mode in opened.modes.available_modes] == [
            "default",
            "accept-edits",
            "plan",
            "auto",
            "dont-ask",
        ]
        await one.agent.set_session_mode(session_id=opened.session_id, mode_id="accept-edits")
        await one.say(opened.session_id, WRITE)
        assert (place.project / "new.txt").exists()
        assert one.asked == []

        for unknown in ("bypass", "nonsense"):
            with pytest.raises(RequestError, match=f"There is no mode '{unknown}'"):
                await one.agent.set_session_mode(session_id=opened.session_id, mode_id=unknown)


async def test_a_plan_is_accepted_in_the_editor_and_the_mode_is_told(place: Place) -> None:
    plan = f"call exit_plan_mode {json.dumps({'plan': 'First look, then write.'})}"
    async with editor(place.env(), *OFFLINE, "--permission-mode", "plan") as one:
        session_id = await one.open(place.project)
        one.choose = picks("none")
        await one.say(session_id, plan)
        assert one.told("current_mode_update") == []
        one.choose = picks("0")
        await one.say(session_id, plan)

    (_, call, options), _ = one.asked
    assert "First look, then write." in str(call.content)
    assert [option.option_id for option in options] == ["0", "1", "2", "none"]
    assert [u.current_mode_id for u in one.told("current_mode_update")] == ["accept-edits"]


async def test_bypass_is_offered_only_to_a_session_that_began_in_it(place: Place) -> None:
    async with editor(place.env(), *OFFLINE, "--permission-mode", "bypass") as one:
        opened = await one.agent.new_session(cwd=str(place.project), mcp_servers=[])

    assert opened.modes is not None
    assert opened.modes.current_mode_id == "bypass"
    assert opened.modes.available_modes[-1].id == "bypass"

from pathlib import Path

import pytest
from textual import events

from agent_tui.protocol.permissions import Decision, PermissionKind, Risk, Scope
from agent_tui.ui.app import FOCUS_CLICK_S
from agent_tui.ui.screens.approval.pane import Pane
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import AppSettings
from agent_tui.ui.widgets.rows import Rows
from tests.support.approval_requests import bash_request, edit_request, mixed_round, permission
from tests.support.approval_stage import asking, states
from tests.support.screens import Clock, Stage, stage

PROJECT = Path("/proj")
ETC = permission(PermissionKind.WRITE, "/etc/hosts", id="p1", pattern="Edit(//etc/**)")


def decisions(screen: ApprovalScreen, call_id: str) -> dict[str, Decision]:
    row = screen.round.find(call_id)
    assert row is not None
    return {key: one.decision for key, one in row.decisions.items()}


async def test_space_on_a_permission_switches_that_permission_alone() -> None:
    requests = [
        bash_request("c1", "tee /etc/hosts", pattern="Bash(tee *)", extra=(ETC,)),
        bash_request("c2", "tee -a /etc/hosts", pattern="Bash(tee *)", extra=(ETC,)),
        bash_request("c3", "ls"),
    ]
    async with stage(PROJECT, backend=asking(PROJECT, *requests), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("end", "down", "down", "tab", "down", "n")
        assert decisions(screen, "c1") == decisions(screen, "c2") == {"p1": Decision.DENY}
        await here.press("up", "space")

        both = {"p0": Decision.ALLOW, "p1": Decision.DENY}
        assert decisions(screen, "c1") == decisions(screen, "c2") == both
        await here.press("space")
        assert decisions(screen, "c1") == {"p0": Decision.DENY, "p1": Decision.DENY}
        assert states(screen)["c3"] == "open"


@pytest.mark.parametrize("keys", [["y"], ["a"], ["p"], ["space"]])
async def test_a_permission_of_a_high_call_is_allowed_only_after_the_call_was_looked_at(
    keys: list[str],
) -> None:
    requests = [edit_request("c1"), edit_request("c2", "src/b.py"), edit_request("c3", risk=Risk.HIGH)]
    async with stage(PROJECT, backend=asking(PROJECT, *requests), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("tab", *keys)

        assert set(states(screen).values()) == {"open"}
        assert "look at this call first" in screen.note
        assert screen.row is not None
        assert screen.row.call_id == "c3"
        await here.press("y")
        assert set(states(screen).values()) == {"allowed"}


@pytest.mark.parametrize("key", ["c", "e", "h"])
async def test_what_is_done_to_one_call_is_not_done_from_a_permission(key: str) -> None:
    async with stage(PROJECT, backend=asking(PROJECT, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("tab", key)

        assert screen.note.startswith("That is for one call")
        assert not here.app.screen.has_class("-writing", "-choosing")


@pytest.mark.parametrize("key", ["y", "a", "n", "Y", "x", "c", "e"])
async def test_while_hunks_are_chosen_no_other_key_decides(key: str) -> None:
    requests = [edit_request("c1"), bash_request("c2")]
    async with stage(PROJECT, backend=asking(PROJECT, *requests), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("h", "space", key)

        assert states(screen) == {"c1": "open", "c2": "open"}
        assert screen.note.startswith("First the hunks")
        await here.press("enter")
        assert screen.round.rows[0].hunks == (1,)


async def _focus(here: Stage) -> None:
    here.app.post_message(events.AppBlur())
    await here.settle()
    here.app.post_message(events.AppFocus())
    await here.settle()


async def test_a_click_that_only_focuses_the_window_takes_and_leaves_no_hunk() -> None:
    clock = Clock()
    settings = AppSettings(clock=clock, grace_s=0.0, typing_s=0.0)
    backend = asking(PROJECT, edit_request("c1"), bash_request("c2"))
    async with stage(PROJECT, backend=backend, size=(120, 40), settings=settings) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("h")
        hunks = screen.query_one(".permissions", Rows)

        await _focus(here)
        await here.pilot.click(hunks, offset=(4, 0))
        await here.settle()
        assert [text[:3] for text in hunks.texts] == ["[x]", "[x]"]

        clock.now += FOCUS_CLICK_S + 0.1
        await here.pilot.click(hunks, offset=(4, 0))
        await here.until(lambda: [text[:3] for text in hunks.texts] == ["[ ]", "[x]"])


async def test_a_command_that_was_passed_over_is_not_read() -> None:
    long = "\n".join(f"echo {n}" for n in range(300))
    requests = [bash_request("c1", "ls"), bash_request("c2", long), bash_request("c3", "pwd")]
    async with stage(PROJECT, backend=asking(PROJECT, *requests), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        [first, second, _] = screen.round.rows
        await here.until(lambda: first.read)
        first.read = False

        screen.post_message(Pane.EndSeen(screen.query_one(Pane), first))
        screen.act("down")
        await here.settle()

        assert screen.row is second
        assert not second.read
        assert first.read


async def test_lines_that_make_way_before_they_are_drawn_count_for_nobody() -> None:
    short = bash_request("c1", "ls", extra=tuple(ETC.model_copy(update={"id": f"e{n}"}) for n in range(80)))
    long = bash_request("c2", "\n".join(f"echo {n}" for n in range(300)))
    async with stage(PROJECT, backend=asking(PROJECT, short, long), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.until(lambda: screen.round.rows[0].read)

        await here.press("G", "down")

        assert screen.row is screen.round.rows[1]
        assert not screen.round.rows[1].read


async def test_rows_that_came_after_the_question_are_not_denied_by_its_answer() -> None:
    backend = asking(PROJECT, bash_request("c1"), bash_request("c2"))
    async with stage(PROJECT, backend=backend, size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("y", "enter")
        assert screen.note.startswith("1 call is undecided")

        assert here.app.link is not None
        more = here.app.run_worker(here.app.link.approver.review([bash_request("late", "make")]))
        await here.until(lambda: screen.round.find("late") is not None)
        await here.settle()
        assert "undecided" not in screen.note
        await here.press("enter")

        assert states(screen) == {"c1": "allowed", "c2": "open", "late": "open"}
        assert screen.note.startswith("2 calls are undecided")
        await here.press("enter")
        await here.until(lambda: more.is_finished)
        await here.idle()


async def test_the_field_says_itself_that_there_is_no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with stage(PROJECT, backend=asking(PROJECT, bash_request("c1")), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("c")
        assert screen.note.endswith("your editor")
        await here.press("ctrl+g")

        assert screen.note == "Set VISUAL or EDITOR to edit a text outside."


async def test_always_for_one_call_stores_what_its_permission_shows() -> None:
    edits = [edit_request(f"c{name}", f"src/a/{name}.py") for name in "xyz"]
    async with stage(PROJECT, backend=asking(PROJECT, *edits, bash_request("b")), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        assert "Edit(/src/a/**)" in here.picture()

        await here.press("a")

        made = screen.round.rows[0].decisions["p0"]
        assert (made.scope, made.pattern) == (Scope.SESSION, "Edit(/src/a/**)")
        assert states(screen) == {"cx": "allowed", "cy": "allowed", "cz": "allowed", "b": "open"}


@pytest.mark.parametrize("keys", [["a"], ["A"], ["p", "enter", "enter"], ["N", "enter", "enter"]])
async def test_a_single_call_stores_no_more_than_its_own_target(keys: list[str]) -> None:
    async with stage(PROJECT, backend=asking(PROJECT, edit_request("c1"))) as here:
        await here.send("go")
        await here.approval()

        await here.press(*keys)
        await here.idle()

        assert here.backend.verdicts[0]["c1"].permissions[0].pattern == "Edit(/src/app.py)"


async def test_everything_for_the_session_stores_what_each_permission_shows() -> None:
    requests = [edit_request("c1"), bash_request("c2", "tee /etc/hosts", extra=(ETC,))]
    async with stage(PROJECT, backend=asking(PROJECT, *requests), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        shown = [group.pattern for group in screen.round.groups()]

        await here.press("A", "enter")
        await here.idle()

        stored = [one.pattern for verdict in here.backend.verdicts[0].values() for one in verdict.permissions]
        assert stored == shown == ["Edit(/src/app.py)", "Bash(pytest *)", "Edit(//etc/hosts)"]


async def test_a_pattern_wider_than_the_one_shown_says_so() -> None:
    async with stage(PROJECT, backend=asking(PROJECT, edit_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("p", "ctrl+u")
        await here.type("Edit(/src/**)")

        assert "WIDER than what was asked" in screen.note


@pytest.mark.parametrize("hide", ["small", "full"])
async def test_no_key_decides_in_a_pane_that_is_not_shown_any_more(workspace: Path, hide: str) -> None:
    edits = [edit_request(f"c{n}", f"src/{n}.py") for n in range(3)]
    async with stage(workspace, backend=asking(workspace, *edits), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("tab")
        if hide == "small":
            await here.pilot.resize_terminal(20, 5)
            await here.until(lambda: screen.has_class("-tiny"))
        else:
            await here.press("f")

        await here.press("y")

        assert states(screen) == {"c0": "allowed", "c1": "open", "c2": "open"}

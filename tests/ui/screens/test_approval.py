import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import Decision, PermissionKind, Risk, Scope
from agent_tui.ui.render.safe import unvis
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import UiSettings
from tests.support.fake_backend import (
    FakeBackend,
    approve,
    bash_request,
    edit_request,
    mixed_round,
    permission,
    say,
    tool_request,
    wait_for,
)
from tests.support.screens import Clock, Stage, stage

PROJECT = Path("/proj")


def asking(workspace: Path, *requests, more=()) -> FakeBackend:
    return FakeBackend(workspace, script=[[approve(*requests), *more]])


def states(screen: ApprovalScreen) -> dict[str, str]:
    return {row.call_id: row.state for row in screen.round.rows}


def decided(here: Stage) -> dict[str, tuple[Decision, Scope, str]]:
    [verdicts] = here.backend.verdicts
    return {
        call_id: (one.decision, one.scope, one.pattern)
        for call_id, verdict in verdicts.items()
        for one in verdict.permissions[:1]
    }


async def read(here: Stage, screen: ApprovalScreen) -> None:
    row = screen.row
    assert row is not None
    await here.until(lambda: row.read)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["y"], (Decision.ALLOW, Scope.ONCE, "")),
        (["1"], (Decision.ALLOW, Scope.ONCE, "")),
        (["a"], (Decision.ALLOW, Scope.SESSION, "Bash(pytest *)")),
        (["2"], (Decision.ALLOW, Scope.SESSION, "Bash(pytest *)")),
        (["n"], (Decision.DENY, Scope.ONCE, "")),
        (["3"], (Decision.DENY, Scope.ONCE, "")),
        (["p", "enter", "enter"], (Decision.ALLOW, Scope.PROJECT, "Bash(pytest *)")),
        (["p", "tab", "enter", "enter"], (Decision.ALLOW, Scope.USER, "Bash(pytest *)")),
        (["p", "tab", "tab", "enter", "enter"], (Decision.ALLOW, Scope.SESSION, "Bash(pytest *)")),
        (["N", "enter", "enter"], (Decision.DENY, Scope.PROJECT, "Bash(pytest *)")),
        (["x"], (Decision.DENY, Scope.ONCE, "")),
        (["Y"], (Decision.ALLOW, Scope.ONCE, "")),
        (["A"], (Decision.ALLOW, Scope.SESSION, "Bash(pytest *)")),
        (["space", "enter"], (Decision.ALLOW, Scope.ONCE, "")),
        (["space", "space", "enter"], (Decision.DENY, Scope.ONCE, "")),
        (["enter", "enter"], (Decision.DENY, Scope.ONCE, "")),
    ],
)
async def test_a80_each_deciding_key_decides_a_single_call(
    workspace: Path, keys: list[str], expected: tuple[Decision, Scope, str]
) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        await read(here, await here.approval())

        await here.press(*keys)
        await here.idle()

        assert decided(here) == {"c1": expected}
        assert not here.app.in_dialog


async def test_decisions_of_a_round_are_independent_and_go_in_one_answer(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("y", "n")
        await read(here, screen)
        await here.press("y")
        await read(here, screen)
        await here.press("a", "x", "enter")
        await here.idle()

        assert screen not in here.app.screen_stack
        assert decided(here) == {
            "c1": (Decision.ALLOW, Scope.ONCE, ""),
            "c2": (Decision.DENY, Scope.ONCE, ""),
            "c3": (Decision.ALLOW, Scope.ONCE, ""),
            "c4": (Decision.ALLOW, Scope.SESSION, "Bash(ruff check *)"),
            "c5": (Decision.DENY, Scope.ONCE, ""),
            "c6": (Decision.DENY, Scope.ONCE, ""),
            "c7": (Decision.DENY, Scope.ONCE, ""),
        }
        assert here.backend.ran == ["c1", "c3", "c4"]


async def test_a_decision_moves_on_to_the_next_undecided_call(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("down", "y")
        assert screen.row is not None
        assert screen.row.call_id == "c3"
        await here.press("end", "n")
        assert screen.row.call_id == "c1"


async def test_a82_rows_move_with_arrows_and_letters_and_wrap(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("k")
        assert screen.row is not None
        assert screen.row.call_id == "c7"
        await here.press("j", "down", "j", "up")
        assert screen.row.call_id == "c2"


async def test_pe_17_twenty_calls_take_two_keys_to_allow_and_two_to_deny(workspace: Path) -> None:
    edits = [edit_request(f"c{i}", f"src/{i}.py") for i in range(20)]
    backend = FakeBackend(workspace, script=[[approve(*edits)], [approve(*edits)]])
    async with stage(workspace, backend=backend, size=(120, 40)) as here:
        await here.send("go")
        await here.approval()
        await here.press("Y", "enter")
        await here.idle()
        await here.send("again")
        await here.approval()
        await here.press("x", "enter")
        await here.idle()

        first, second = here.backend.verdicts
        assert {one.permissions[0].decision for one in first.values()} == {Decision.ALLOW}
        assert {one.permissions[0].decision for one in second.values()} == {Decision.DENY}
        assert len(second) == 20


async def test_keys_for_everything_leave_high_calls_that_were_not_looked_at(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("Y")

        assert states(screen)["c3"] == "open"
        assert states(screen)["c7"] == "open"
        assert "2 calls must be looked at first" in screen.note
        await here.press("end", "up", "up", "up", "up", "Y", "enter")
        await here.idle()
        assert here.backend.ran == ["c1", "c2", "c3", "c4", "c5", "c6", "c7"]


async def test_enter_asks_once_before_it_denies_what_is_undecided(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("y", "enter")
        assert "6 calls are undecided" in screen.note
        assert not here.backend.verdicts
        await here.press("down", "enter")
        assert not here.backend.verdicts
        await here.press("enter")
        await here.idle()

        assert here.backend.ran == ["c1"]


async def test_h_t5_keys_of_the_first_half_second_and_typed_ahead_decide_nothing(workspace: Path) -> None:
    clock = Clock()
    settings = UiSettings(clock=clock, typing_s=0.0)
    async with stage(workspace, backend=asking(workspace, bash_request("c1")), settings=settings) as here:
        await here.send("go")
        screen = await here.approval()

        clock.now += 0.05
        await here.press("y", "enter", "a", "space", "Y", "enter")
        assert states(screen) == {"c1": "open"}

        clock.now += 0.5
        await here.press("y")
        await here.idle()
        assert here.backend.ran == ["c1"]


async def test_item_24_a_draft_survives_the_screen(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate), approve(bash_request("c1"))]])
    async with stage(workspace, backend=backend) as here:
        await here.send("go")
        await here.type("half a thou")
        gate.set()
        await here.approval()

        await here.press("y")
        await here.idle()
        assert here.app.prompt.text == "half a thou"


async def test_a_person_who_is_typing_sees_a_banner_first(workspace: Path) -> None:
    gate = asyncio.Event()
    clock = Clock()
    backend = FakeBackend(workspace, script=[[wait_for(gate), approve(bash_request("c1"))]])
    settings = UiSettings(clock=clock, grace_s=0.0, typing_s=0.2)
    async with stage(workspace, backend=backend, settings=settings) as here:
        await here.send("go")
        await here.type("half")
        gate.set()
        await here.until(lambda: here.app.banner.display)
        await here.type(" y")
        assert not here.app.in_dialog
        assert here.app.prompt.text == "half y"

        clock.now += 1
        await here.approval()
        await here.press("n")
        await here.idle()
        assert here.app.prompt.text == "half y"


async def test_item_23_escape_lowers_the_round_and_a_second_one_denies_it(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        await here.approval()

        await here.press("escape")
        assert not here.app.in_dialog
        assert here.app.banner.display
        assert not here.backend.verdicts

        await here.press("escape")
        await here.idle()
        assert not here.app.banner.display
        assert here.backend.ran == []
        assert "cancel_turn" in here.backend.calls


async def test_enter_on_an_empty_prompt_raises_the_round_with_its_decisions_kept(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("y", "escape", "enter")

        raised = await here.approval()

        assert raised is not screen
        assert states(raised)["c1"] == "allowed"


async def test_ctrl_c_in_the_screen_stops_the_turn_and_denies(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round())) as here:
        await here.send("go")
        await here.approval()

        await here.press("ctrl+c")
        await here.idle()

        assert not here.app.in_dialog
        assert here.backend.ran == []


async def test_item_61_ctrl_q_quits_from_the_screen_and_nothing_runs(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        await here.approval()

        await here.press("ctrl+q")
        await here.until(lambda: here.app.return_value == 0)

        assert here.backend.closed
        assert here.backend.ran == []


async def test_a_turn_that_is_cancelled_elsewhere_closes_the_screen(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        await here.approval()
        await here.press("?")

        here.backend.cancel_turn()
        await here.idle()

        assert not here.app.in_dialog
        assert here.app.link is not None
        assert here.app.link.approver.pending == 0


async def test_item_25_words_go_with_a_denial_and_with_an_approval(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        await here.approval()

        await here.press("c")
        await here.type("good but yes n y")
        await here.press("enter", "y", "c")
        await here.type("not this")
        await here.press("enter", "n", "x", "enter")
        await here.idle()

        [verdicts] = here.backend.verdicts
        assert verdicts["c1"].feedback == "good but yes n y"
        assert verdicts["c1"].permissions[0].decision is Decision.ALLOW
        assert verdicts["c2"].feedback == "not this"
        assert verdicts["c2"].permissions[0].decision is Decision.DENY


async def test_pe_22_editing_the_words_confirms_nothing_and_escape_returns_to_the_choice(
    workspace: Path,
) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("c")
        await here.type("abc")
        await here.press("left", "delete", *["backspace"] * 5, "escape")

        assert states(screen) == {"c1": "open"}
        assert not here.backend.verdicts
        assert here.app.screen is screen
        await here.press("n")
        await here.idle()
        assert here.backend.verdicts[0]["c1"].feedback == ""


async def test_an_edited_command_goes_back_whole_and_is_marked(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1", "pytest -q"))) as here:
        await here.send("go")
        await here.approval()

        await here.press("e")
        await here.type(" -x")
        await here.press("enter")
        await here.idle()

        verdict = here.backend.verdicts[0]["c1"]
        assert verdict.edited_arguments == {"command": "pytest -q -x"}
        assert verdict.permissions[0].decision is Decision.ALLOW
        assert ("decision", "allowed once Bash: pytest -q (edited)") in here.shown


async def test_edited_arguments_must_be_an_object(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, tool_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("e")
        await here.type("}")
        await here.press("enter")
        assert "not a JSON object" in screen.note
        await here.press("backspace", "enter")
        await here.idle()

        assert here.backend.verdicts[0]["c1"].edited_arguments == {"sql": "select 1", "limit": 5}


async def test_hunks_are_taken_one_by_one(workspace: Path) -> None:
    async with stage(
        workspace, backend=asking(workspace, edit_request("c1"), bash_request("c2")), size=(100, 40)
    ) as here:
        await here.send("go")
        await here.approval()

        await here.press("h", "space", "enter", "n", "enter")
        await here.idle()

        [verdicts] = here.backend.verdicts
        assert verdicts["c1"].accepted_hunks == (1,)
        assert verdicts["c1"].permissions[0].decision is Decision.ALLOW


async def test_taking_no_hunk_is_a_denial(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, edit_request("c1"), bash_request("c2"))) as here:
        await here.send("go")
        await here.approval()

        await here.press("h", "space", "down", "space", "enter", "n", "enter")
        await here.idle()

        assert decided(here)["c1"][0] is Decision.DENY


async def test_a_lasting_pattern_can_be_edited_and_counts_what_it_covers() -> None:
    async with stage(PROJECT, backend=asking(PROJECT, *mixed_round()), size=(140, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("p")
        assert "covers 2 of 7" in screen.note
        await here.press(*["backspace"] * 3)
        await here.type("app.py)")
        assert "covers 1 of 7" in screen.note
        await here.press("enter")
        assert "Enter again stores it" in screen.note
        await here.press("enter", "x", "enter")
        await here.idle()

        assert decided(here)["c1"] == (Decision.ALLOW, Scope.PROJECT, "Edit(/src/app.py)")


async def test_a_pattern_that_is_wider_than_asked_says_so_and_one_that_misses_the_call_is_refused() -> None:
    async with stage(PROJECT, backend=asking(PROJECT, *mixed_round()), size=(140, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("p", "ctrl+u")
        await here.type("Edit(/**)")
        assert "WIDER" in screen.note
        await here.press("ctrl+u")
        await here.type("Edit(/docs/**)")
        assert "covers 0 of 7" in screen.note
        await here.press("enter")
        assert screen.note == "Not stored: Edit(/docs/**) covers 0 of 1 call that is being decided."
        assert states(screen)["c1"] == "open"


async def test_the_row_of_a_permission_suggests_no_more_than_its_calls_need() -> None:
    edits = [edit_request("c1", "src/a/x.py"), edit_request("c2", "src/a/y.py"), bash_request("c3")]
    async with stage(PROJECT, backend=asking(PROJECT, *edits), size=(140, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("tab", "p")

        assert screen.text_written == "Edit(/src/a/**)"


async def test_a_permission_is_decided_for_all_calls_that_need_it(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("tab", "y")

        assert states(screen)["c1"] == "allowed"
        assert states(screen)["c2"] == "allowed"
        assert states(screen)["c4"] == "open"


async def test_what_has_no_pattern_offers_no_always(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1", "sh x.sh", pattern=""))) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("a")
        assert "longer than once" in screen.note
        await here.press("p")
        assert "longer than once" in screen.note
        assert states(screen) == {"c1": "open"}


async def test_h_t2_odd_characters_of_a_command_are_visible_and_give_the_command_back(
    workspace: Path,
) -> None:
    command = "echo a\u202eb\u200bc\rd\be\x1b[31mf\nrm 'x y'"
    request = bash_request("c1", command)
    async with stage(workspace, backend=asking(workspace, request), size=(100, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        lines = preview.body(screen.round.rows[0])[1:]
        assert unvis("\n".join(line.plain for line in lines)) == command
        picture = here.picture()
        for mark in ("⟦202e⟧", "⟦200b⟧", "⟦d⟧", "⟦8⟧", "⟦1b⟧"):
            assert mark in picture
        assert "U+202E" in picture


async def test_h_t3_markup_in_titles_and_targets_is_shown_as_it_is(workspace: Path) -> None:
    text = "[link=https://evil]x[/link] [@click=app.quit]x[/] [bold]b [/"
    async with stage(workspace, backend=asking(workspace, bash_request("c1", text)), size=(120, 30)) as here:
        await here.send("go")
        await here.approval()

        assert text in here.picture()


async def test_h_t4_a_long_command_says_its_lines_and_must_be_read_to_the_end(workspace: Path) -> None:
    command = "# a comment\n" + "\n".join(f"echo {n}" for n in range(299))
    async with stage(
        workspace, backend=asking(workspace, bash_request("c1", command)), size=(80, 24)
    ) as here:
        await here.send("go")
        screen = await here.approval()

        assert "300 lines" in here.picture()
        await here.press("y", "a", "Y", "space")
        assert states(screen) == {"c1": "open"}
        assert "read it to the end" in screen.note or "looked at first" in screen.note
        await here.press("G")
        await here.until(lambda: screen.round.rows[0].read)
        assert "echo 298" in here.picture()
        await here.press("y")
        await here.idle()
        assert here.backend.ran == ["c1"]


async def test_a_long_command_can_be_denied_unread(workspace: Path) -> None:
    command = "\n".join(f"echo {n}" for n in range(300))
    async with stage(
        workspace, backend=asking(workspace, bash_request("c1", command)), size=(80, 24)
    ) as here:
        await here.send("go")
        await here.approval()

        await here.press("n")
        await here.idle()

        assert here.backend.ran == []


async def test_rows_that_come_while_it_is_open_are_appended_and_keep_what_was_decided(
    workspace: Path,
) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()[:2])) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("y")
        assert here.app.link is not None
        approver = here.app.link.approver
        answers = {}

        async def second() -> None:
            answers.update(await approver.review([bash_request("s1", "ls")]))

        here.app.run_worker(second())
        await here.until(lambda: len(screen.round.rows) == 3)
        await here.press("n", "n", "enter")
        await here.until(lambda: answers)
        await here.idle()

        assert answers["s1"].permissions[0].decision is Decision.DENY
        assert decided(here)["c1"][0] is Decision.ALLOW
        assert here.app.screen is not screen


async def test_why_shows_reason_and_arguments_and_escape_leaves_it_first(workspace: Path) -> None:
    request = bash_request("c1", "make deploy", reason="changes a remote", risk=Risk.HIGH)
    async with stage(workspace, backend=asking(workspace, request), size=(100, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("?")
        assert "Why this asks" in here.picture()
        assert "changes a remote" in here.picture()
        await here.press("escape")
        assert here.app.screen is screen
        assert "Why this asks" not in here.picture()


async def test_layout_wrap_full_and_group_change_only_the_view(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(140, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("t")
        assert "│" in here.picture()
        await here.press("w")
        assert not screen.preview_pane.wraps
        await here.press("right", "left", "w", "f")
        assert screen.preview_pane.size.height > 30
        await here.press("escape", "g", "g")
        assert "Grouped by tool" in screen.note
        await here.press("g", "g", "g")
        assert states(screen) == dict.fromkeys(["c1", "c2", "c3", "c4", "c5", "c6", "c7"], "open")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20), (20, 5), (10, 3), (1, 1)])
async def test_tu_15_the_keys_work_at_any_size(workspace: Path, size: tuple[int, int]) -> None:
    async with stage(
        workspace, backend=asking(workspace, edit_request("c1"), tool_request("c2")), size=size
    ) as here:
        await here.send("go")
        await here.approval()

        await here.press("y", "n", "enter")
        await here.idle()

        assert here.backend.ran == ["c1"]


async def test_it_survives_resizes_and_theme_changes(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round())) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("y")

        for size in ((60, 20), (20, 5), (1, 1), (200, 50), (80, 24)):
            await here.pilot.resize_terminal(*size)
            await here.pilot.pause()
        await here.app.actions.switch_theme("light")
        await here.pilot.pause()

        assert here.app.screen is screen
        assert states(screen)["c1"] == "allowed"


async def test_a_click_on_a_row_goes_there_and_a_click_on_a_key_does_it(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.pilot.click(".calls", offset=(3, 1))
        assert screen.row is not None
        assert screen.row.call_id == "c2"
        await here.pilot.click("Hints", offset=(1, 0))
        await here.pilot.pause()
        assert states(screen)["c2"] == "allowed"


async def test_item_15_a_round_without_requests_opens_nothing(workspace: Path) -> None:
    async with stage(workspace, backend=FakeBackend(workspace, script=[[approve(), say("done")]])) as here:
        await here.send("go")
        await here.idle()

        assert here.backend.verdicts == [{}]
        assert not here.app.in_dialog


async def test_tu_24_ids_of_calls_may_be_anything(workspace: Path) -> None:
    requests = [
        edit_request(call_id, f"src/{i}.py") for i, call_id in enumerate(["1abc", "call.0", "é", " "])
    ]
    async with stage(workspace, backend=asking(workspace, *requests)) as here:
        await here.send("go")
        await here.approval()

        await here.press("Y", "enter")
        await here.idle()

        assert here.backend.ran == ["1abc", "call.0", "é", " "]


async def test_tu_25_two_answers_within_a_moment_answer_once(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        screen.act("allow")
        screen.act("deny")
        screen.act("escape")
        await here.idle()

        assert len(here.backend.verdicts) == 1
        assert not here.app.in_dialog


async def test_a_call_outside_the_project_names_its_exact_target(workspace: Path) -> None:
    request = bash_request(
        "c1",
        "tee /etc/hosts",
        extra=(permission(PermissionKind.WRITE, "/etc/hosts", id="p1", risk=Risk.HIGH),),
    )
    async with stage(workspace, backend=asking(workspace, request, bash_request("c2"))) as here:
        await here.send("go")
        await here.approval()

        assert "outside: /etc/hosts" in here.picture()


async def test_a83_one_call_takes_half_the_screen_at_most_and_a_round_seven_tenths(workspace: Path) -> None:
    long = "\n".join(f"echo {n}" for n in range(100))
    script = [[approve(bash_request("c1", long))], [approve(*mixed_round())]]
    async with stage(workspace, backend=FakeBackend(workspace, script=script), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.until(lambda: screen.query_one(".frame").size.height)
        assert screen.query_one(".frame").outer_size.height <= 20
        await here.press("n")
        await here.idle()
        await here.send("go on")
        screen = await here.approval()
        assert screen.query_one(".frame").outer_size.height == 28


async def test_a84_item_26_every_call_of_a_long_list_can_be_reached_and_seen(workspace: Path) -> None:
    requests = [edit_request(f"c{n}", f"src/file_{n}.py") for n in range(60)]
    async with stage(workspace, backend=asking(workspace, *requests), size=(80, 24)) as here:
        await here.send("go")
        screen = await here.approval()
        assert "Approve 60 calls" in here.picture()

        await here.press("end")
        assert screen.row is not None
        assert screen.row.call_id == "c59"
        await here.until(lambda: "file_59" in here.picture())
        await here.press("x", "enter")
        await here.idle()
        assert here.backend.ran == []


async def test_item_63_an_open_screen_is_repainted_in_the_new_theme(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(100, 30)) as here:
        await here.send("go")
        screen = await here.approval()
        before = screen.query_one(".frame").styles.background

        await here.app.actions.switch_theme("light")
        await here.pilot.pause()

        assert screen.query_one(".frame").styles.background != before

import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import Decision, Scope
from agent_tui.ui.settings import AppSettings
from tests.support.approval_requests import bash_request, edit_request, mixed_round
from tests.support.approval_stage import asking, decided, read, states
from tests.support.fake_backend import FakeBackend, approve, wait_for
from tests.support.screens import Clock, stage


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
    settings = AppSettings(clock=clock, typing_s=0.0)
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
    settings = AppSettings(clock=clock, grace_s=0.0, typing_s=0.2)
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
        await here.press("y", "escape")
        await here.until(lambda: "6 calls wait for your decision" in here.picture())
        await here.press("enter")

        raised = await here.approval()

        assert raised is not screen
        assert states(raised)["c1"] == "allowed"


async def test_the_banner_of_a_round_that_is_decided_says_that_it_was_not_sent(workspace: Path) -> None:
    requests = (bash_request("c1"), bash_request("c2", "make"))
    async with stage(workspace, backend=asking(workspace, *requests), size=(120, 40)) as here:
        await here.send("go")
        await here.approval()

        await here.press("Y", "escape")

        await here.until(lambda: "Your 2 answers wait to be sent" in here.picture())
        await here.press("enter")
        await here.approval()
        await here.press("enter")
        await here.idle()
        assert here.backend.ran == ["c1", "c2"]


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

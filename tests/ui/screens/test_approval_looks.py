from pathlib import Path

import pytest

from agent_tui.protocol.permissions import Decision, PermissionKind, Risk
from agent_tui.ui.screens.approval.pane import Pane
from agent_tui.ui.settings import AppSettings
from tests.support.approval_requests import bash_request, edit_request, mixed_round, permission, tool_request
from tests.support.approval_stage import asking, decided, states
from tests.support.fake_backend import FakeBackend, approve, say
from tests.support.screens import stage


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


async def test_why_says_that_no_rule_answers_where_nothing_else_is_the_reason(workspace: Path) -> None:
    async with stage(
        workspace, backend=asking(workspace, bash_request("c1", reason="")), size=(100, 40)
    ) as here:
        await here.send("go")
        await here.approval()

        await here.press("?")
        assert "no rule allows or denies it, so you are asked" in here.picture()


async def test_a_call_that_comes_up_again_says_why_without_being_asked(workspace: Path) -> None:
    again = bash_request("c1").model_copy(update={"reason": "the edited call needs more than was approved"})
    async with stage(workspace, backend=asking(workspace, again), size=(100, 40)) as here:
        await here.send("go")
        await here.approval()

        assert "The edited call needs more than was approved." in here.picture()


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

        def rows_with(text: str) -> int:
            return sum(text in line for line in here.picture().split("\n"))

        old, new = "def main() -> int:", "def main(argv: list[str]) -> int:"
        assert not any(old in line and new in line for line in here.picture().split("\n"))
        await here.press("t")
        await here.until(lambda: any(old in line and new in line for line in here.picture().split("\n")))
        await here.press("t")
        await here.until(lambda: not any(old in line and new in line for line in here.picture().split("\n")))

        await here.press("f")
        await here.until(lambda: rows_with("src/cli.py") == 0)
        assert screen.query_one(Pane).size.height > 30
        await here.press("escape")
        await here.until(lambda: rows_with("src/cli.py"))

        await here.press("g", "g")
        assert rows_with("Edit  ×3") == 1
        await here.press("g", "g", "g")
        assert rows_with("Edit  ×3") == 0
        assert states(screen) == dict.fromkeys(["c1", "c2", "c3", "c4", "c5", "c6", "c7"], "open")


async def test_lines_that_are_not_wrapped_run_out_to_the_right_and_can_be_followed(workspace: Path) -> None:
    command = "echo " + " ".join(f"word{n:02}" for n in range(30))
    async with stage(
        workspace, backend=asking(workspace, bash_request("c1", command)), size=(80, 24)
    ) as here:
        await here.send("go")
        await here.approval()

        assert "word29" in here.picture()
        await here.press("w")
        assert "word29" not in here.picture()
        await here.press(*["right"] * 30)
        assert "word29" in here.picture()
        await here.press("w")
        assert "echo word00" in here.picture()


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


async def test_lead_3_1_8_a_round_takes_half_the_screen_when_the_person_wants_it_low(workspace: Path) -> None:
    low = AppSettings(low_approvals=True, grace_s=0.0)
    backend = asking(workspace, *mixed_round())
    async with stage(workspace, backend=backend, settings=low, size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        assert screen.query_one(".frame").outer_size.height == 20
        await here.press("f")
        await here.until(lambda: screen.query_one(".frame").outer_size.height == 40)


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

from pathlib import Path

import pytest

from agent_tui.protocol.permissions import Decision, PermissionRequest, Scope
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.widgets.editor import Field
from tests.support.approval_requests import bash_request, edit_request, mixed_round, tool_request
from tests.support.approval_stage import asking, decided, states
from tests.support.screens import stage
from tests.support.unvis import unvis

PROJECT = Path("/proj")


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


async def test_no_hunks_are_chosen_of_a_call_that_was_edited(workspace: Path) -> None:
    backend = asking(workspace, edit_request("c1"), bash_request("c2"))
    async with stage(workspace, backend=backend, size=(100, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("e", "enter", "up", "h")

        assert screen.note == "There is nothing to choose from: what you edited runs whole."
        await here.press("n", "enter")
        assert screen.round.rows[0].edited is not None
        assert screen.round.rows[0].hunks is None


@pytest.mark.parametrize(("rows", "keys"), [(40, "h"), (40, "fh"), (24, "h"), (11, "h")])
async def test_hunks_of_a_single_call_are_seen_while_they_are_chosen(
    workspace: Path, rows: int, keys: str
) -> None:
    async with stage(workspace, backend=asking(workspace, edit_request("c1")), size=(80, rows)) as here:
        await here.send("go")
        await here.approval()

        await here.press(*keys, "down", "space")
        assert "[x] -1,4 +1,4" in here.picture()
        assert "[ ] -20,3 +20,4" in here.picture()

        await here.press("escape")
        assert "[x]" not in here.picture()


@pytest.mark.parametrize("size", [(160, 24), (80, 24), (40, 15), (30, 8)])
@pytest.mark.parametrize("more", [(), (bash_request("c2"),)])
async def test_the_chosen_hunk_is_on_screen(
    workspace: Path, more: tuple[PermissionRequest, ...], size: tuple[int, int]
) -> None:
    hunks = [f"@@ -{n}0,3 +{n}0,3 @@\n before {n}\n-old\n+new\n after\n" for n in range(1, 10)]
    diff = "".join(["--- a/src/app.py\n+++ b/src/app.py\n", *hunks])
    request = edit_request("c1", diff=diff, hunks=len(hunks))
    async with stage(workspace, backend=asking(workspace, request, *more), size=size) as here:
        await here.send("go")
        await here.approval()

        await here.press("h", *["down"] * 6)
        assert "before 7" in here.picture()
        await here.press("up", "up", "t")
        await here.until(lambda: "before 5" in here.picture())
        await here.press("down", "t")
        await here.until(lambda: "before 6" in here.picture())
        await here.press("escape", "h")
        await here.until(lambda: "before 1" in here.picture())


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

        assert screen.query_one(Field).text == "Edit(/src/a/**)"


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

from pathlib import Path

import pytest

from agent_tui.ui.changes import ChangeView
from agent_tui.ui.screens.changes import ChangesScreen
from agent_tui.ui.screens.diff_question import DiffQuestion
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage

TWO_PARTS = (
    "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"
    "@@ -1,4 +1,4 @@\n-old one\n+new one\n 2\n 3\n 4\n"
    "@@ -10,4 +10,4 @@\n 10\n 11\n 12\n-old two\n+new two\n"
)
ITS = ChangeView("a.txt", TWO_PARTS, 2, 2)
OTHER = ChangeView("b.txt", "diff --git a/b.txt b/b.txt\nBinary files a/b.txt and b/b.txt differ\n")


def backend(workspace: Path, *changes: ChangeView, scope: str = "turn") -> FakeBackend:
    made = FakeBackend(workspace)
    made.past.changes.differing[scope] = list(changes)
    return made


async def opened(here: Stage, command: str = "/diff") -> ChangesScreen:
    await here.send(command)
    await here.until(lambda: isinstance(here.app.screen, ChangesScreen))
    await here.settle()
    assert isinstance(here.app.screen, ChangesScreen)
    return here.app.screen


async def test_changes_are_shown_with_their_files_parts_and_counts(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace, ITS, OTHER)) as here:
        await opened(here)
        picture = here.picture()

    assert "Changes of this turn · 2 files · +2 -2" in picture
    for text in ("a.txt  +2 -2", "- old one", "+ new two", "Binary files"):
        assert text in picture


@pytest.mark.parametrize(
    ("keys", "call"),
    [
        (["r"], ("revert", "a.txt", None, False)),
        (["n", "r"], ("revert", "a.txt", 0, False)),
        (["n", "n", "down", "r"], ("revert", "a.txt", 1, False)),
        (["n", "n", "R"], ("revert", "a.txt", None, False)),
        (["tab", "r"], ("revert", "b.txt", None, False)),
        (["u"], ("undo_revert",)),
    ],
)
async def test_a_part_or_a_file_is_taken_back(
    workspace: Path, keys: list[str], call: tuple[object, ...]
) -> None:
    async with stage(workspace, backend=backend(workspace, ITS, OTHER)) as here:
        await opened(here)
        await here.press(*keys)
        await here.until(lambda: here.backend.past.calls)

        assert here.backend.past.calls == [call]


async def test_what_the_person_wrote_is_shown_and_asked_about_before_it_goes(workspace: Path) -> None:
    made = backend(workspace, ITS)
    made.past.changes.mine["a.txt"] = TWO_PARTS
    async with stage(workspace, backend=made) as here:
        await opened(here)
        await here.press("r")
        await here.until(lambda: isinstance(here.app.screen, DiffQuestion))
        await here.settle()
        asked = here.picture()
        await here.press("n")
        await here.until(lambda: isinstance(here.app.screen, ChangesScreen))
        kept = list(made.past.calls)
        await here.press("r")
        await here.until(lambda: isinstance(here.app.screen, DiffQuestion))
        await here.press("y")
        await here.until(lambda: len(made.past.calls) == 3)

    assert "was changed by hand" in asked
    assert "- old one" in asked
    assert kept == [("revert", "a.txt", None, False)]
    assert made.past.calls[-1] == ("revert", "a.txt", None, True)


async def test_comments_on_lines_go_to_the_model_as_one_message(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace, ITS)) as here:
        await opened(here)
        await here.press("down", "down", "c")
        await here.type("keep the old name")
        await here.press("enter", "n", "c")
        await here.type("why?")
        await here.press("enter")
        shown = here.picture()
        await here.press("s")
        await here.until(lambda: here.backend.prompts)

        assert "┃ keep the old name" in shown
        assert here.backend.prompts == [
            "My comments on the changes since this turn:\n"
            "- a.txt, removed line 1 `old one`: keep the old name\n"
            "- a.txt, lines 10 to 13: why?"
        ]


async def test_comments_that_were_not_sent_are_asked_about(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace, ITS)) as here:
        screen = await opened(here)
        await here.press("c")
        await here.type("hm")
        await here.press("enter", "escape")
        await here.until(lambda: isinstance(here.app.screen, DiffQuestion))
        await here.press("escape")
        await here.until(lambda: here.app.screen is screen)
        await here.press("ctrl+d", "escape")
        await here.until(lambda: not here.app.in_dialog)

        assert here.backend.prompts == []


async def test_the_same_screen_compares_with_the_session_and_the_branch(workspace: Path) -> None:
    made = backend(workspace, ITS)
    made.past.changes.differing["branch"] = [OTHER]
    async with stage(workspace, backend=made) as here:
        await opened(here)
        await here.press("v")
        await here.until(lambda: "this session" in here.picture())
        await here.press("v")
        await here.until(lambda: "main (1a2b3c4)" in here.picture())

        assert "b.txt" in here.picture()


async def test_without_changes_in_the_turn_the_longer_look_is_named(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await here.send("/diff")
        await here.until(lambda: len(here.notices) == 1)

        assert here.notices == [
            "No file differs from what it was before this turn. /diff session looks further back."
        ]


async def test_before_the_first_change_it_is_said_plainly_and_not_as_an_error(workspace: Path) -> None:
    made = backend(workspace)
    made.past.changes.nothing = "Nothing of this session has changed a file yet."
    async with stage(workspace, backend=made) as here:
        await here.send("/diff")
        await here.until(lambda: here.notices)

        assert here.notices == ["Nothing of this session has changed a file yet."]


async def test_without_changes_or_with_a_problem_a_sentence_is_said(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await here.send("/diff branch")
        await here.until(lambda: len(here.notices) == 1)
        here.backend.past.changes.problem = "This directory is in no git repository."
        await here.send("/diff branch")
        await here.until(lambda: len(here.notices) == 2)
        await here.send("/diff week")
        await here.until(lambda: len(here.notices) == 3)

        assert here.notices[0] == "No file differs from what it was before main (1a2b3c4)."
        assert here.notices[1].endswith("This directory is in no git repository.")
        assert "/diff branch" in here.notices[2]

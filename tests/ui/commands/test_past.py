from pathlib import Path

import pytest

from agent_tui.ui.backend import SessionView
from agent_tui.ui.changes import ChangeView
from agent_tui.ui.past import PointView
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.sessions import SessionPicker
from agent_tui.ui.screens.settings.value import ValueDialog
from agent_tui.ui.screens.viewer import Viewer
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage

DIFF = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-new\n+old\n"
MINE = ChangeView("mine.txt", DIFF.replace("a.txt", "mine.txt"), 1, 1, conflict="changed by hand since")
ITS = ChangeView("a.txt", DIFF, 1, 1)


def backend(workspace: Path) -> FakeBackend:
    made = FakeBackend(workspace)
    made.past.views = [
        PointView("e1", "make petals", 0.0, 0, active=True),
        PointView("e2", "paint them red", 0.0, 1, active=False, label="red"),
        PointView("e3", "paint them blue", 0.0, 1, active=True),
    ]
    return made


async def choose(here: Stage, typed: str) -> None:
    await here.until(lambda: isinstance(here.app.screen, Picker))
    await here.press(*typed, "enter")


async def test_rewind_asks_for_the_prompt_and_for_what_goes_back(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        here.backend.past.plan = [ITS]
        await here.send("/rewind")
        await choose(here, "make")
        await choose(here, "files")
        await here.until(lambda: here.backend.past.calls)

        assert here.backend.past.calls == [("rewind", "e1", False, True, ())]
        assert "It went back." in here.shown[-1][1]


async def test_rewind_lists_long_and_short_prompts_with_their_times_below_each_other(workspace: Path) -> None:
    made = FakeBackend(workspace)
    long = "replace hello world with good day in app.py"
    made.past.views = [
        PointView("e1", long, 1e9, 0, active=True),
        PointView("e2", "tour", 1e9, 0, active=True),
    ]
    async with stage(workspace, backend=made) as here:
        await here.send("/rewind")
        await here.until(lambda: long in here.picture())
        rows = [row for row in here.picture().splitlines() if " Sep " in row]

    assert len(rows) == 2
    assert len({row.index(" Sep ") for row in rows}) == 1


async def test_rewind_puts_the_prompt_back_to_be_said_better(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await here.send("/rewind")
        await choose(here, "")
        await choose(here, "conversation")
        await here.until(lambda: here.app.prompt.text)

        assert here.backend.past.calls == [("rewind", "e3", True, False, ())]
        assert here.app.prompt.text == "prompt of e3"


@pytest.mark.parametrize(("typed", "side"), [("from here", "from"), ("up to here", "before")])
async def test_rewind_puts_a_summary_in_the_place_of_a_part(workspace: Path, typed: str, side: str) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await here.send("/rewind")
        await choose(here, "make")
        await here.until(lambda: "Summarise" in here.picture())
        await choose(here, typed)
        await here.until(lambda: "take the place of that part" in here.picture())
        await choose(here, "use")
        await here.until(lambda: here.notices)

        assert here.backend.calls == [f"draft {side} e1", f"compact {side} e1 Goal: petals."]
        assert here.backend.past.calls == []


async def test_undo_leaves_what_the_person_changed_unless_told(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        here.backend.past.plan = [ITS, MINE]
        await here.send("/undo")
        await choose(here, "leave")
        await here.until(lambda: here.backend.past.calls)
        here.app.prompt.put("")
        await here.send("/undo")
        await choose(here, "put")
        await here.until(lambda: len(here.backend.past.calls) == 2)

        assert [call[-1] for call in here.backend.past.calls] == [(), ("mine.txt",)]


async def test_undo_shows_the_difference_and_can_be_left(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        here.backend.past.plan = [MINE]
        await here.send("/undo")
        await choose(here, "show")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("escape")
        await here.until(lambda: not here.app.in_dialog)

        assert here.backend.past.calls == []


async def test_undo_and_redo_without_anything_say_so(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/undo")
        await here.send("/redo")
        await here.until(lambda: len(here.shown) == 2)

        assert [text for _, text in here.shown] == ["There is nothing to undo.", "There is nothing to redo."]


async def test_redo_brings_back(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        here.backend.past.redo_plan = [ITS]
        await here.send("/redo")
        await here.until(lambda: here.backend.past.calls)

        assert here.backend.past.calls == [("redo", ())]


async def test_files_that_are_not_covered_are_named(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        here.backend.past.too_large = ["film.mp4"]
        await here.send("/undo")
        await here.until(lambda: here.shown)

        assert "film.mp4" in here.shown[-1][1]


async def test_tree_lists_all_branches_and_goes_to_another(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await here.send("/tree label blue")
        await here.until(lambda: here.backend.past.calls)
        await here.send("/tree")
        await choose(here, "red")
        await here.until(lambda: len(here.backend.past.calls) == 2)

        assert here.backend.past.calls == [("label", "e3", "blue"), ("go_to", "e2")]


async def test_fork_opens_the_copy(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await here.send("/fork red")
        await here.until(lambda: "resume copy-1" in here.backend.calls)

        assert here.backend.past.calls == [("fork", "e2")]


async def test_export_takes_a_kind_and_a_path_or_a_path_alone(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        for typed in ("/export", "/export html out.html", "/export notes.md"):
            await here.send(typed)
        await here.until(lambda: len(here.backend.past.calls) == 3)

        assert here.backend.past.calls == [
            ("export", "", ""),
            ("export", "html", "out.html"),
            ("export", "md", "notes.md"),
        ]


async def test_export_makes_a_picture_of_the_screen_that_fetches_nothing(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        here.app.notice("info", "a notice in the picture")
        await here.settle()
        await here.send("/export svg shot.svg")
        await here.until(lambda: here.backend.past.calls)
        await here.send("/export shot.png")
        await here.until(lambda: len(here.backend.past.calls) == 2)

    (_, kind, path, svg), (_, second, target, _) = here.backend.past.calls
    assert (kind, path, second, target) == ("svg", "shot.svg", "png", "shot.png")
    assert "notice" in str(svg)
    assert str(svg).replace("http://www.w3.org/", "").count("http") == 0
    assert "@font-face" not in str(svg)
    assert "Fira" not in str(svg)


async def test_item_28_pending_approvals_are_asked_again_only_when_told(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.backend.waits = True
        await here.send("/pending")
        await here.until(lambda: "redrive" in here.backend.calls)
        await here.idle()
        await here.send("/pending")
        await here.until(lambda: here.shown)

        assert here.backend.calls.count("redrive") == 1
        assert here.shown[-1][1] == "No call waits for an approval."


async def test_a_session_is_named_in_the_picker(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.backend.session_views = [SessionView("s-9", "", 0.0, 3, "make petals", workspace=str(workspace))]
        await here.send("/sessions")
        for name, shown in (("taken", "another program"), ("roses", "roses")):
            await here.until(lambda: isinstance(here.app.screen, SessionPicker))
            await here.press("f2")
            await here.until(lambda: isinstance(here.app.screen, ValueDialog))
            await here.press("ctrl+u")
            await here.type(name)
            await here.press("enter")
            await here.until(
                lambda shown=shown: isinstance(here.app.screen, SessionPicker) and shown in here.picture()
            )

        assert here.backend.past.calls == [("rename", "s-9", "roses")]


async def test_sessions_are_searched_by_what_was_said_and_show_their_last_words(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.backend.session_views = [
            SessionView("s-9", "petals", 0.0, 3, "make petals", workspace=str(workspace)),
            SessionView("s-8", "roots", 0.0, 1, "dig", workspace="/elsewhere/garden"),
        ]
        here.backend.past.excerpts = {"s-9": "› make petals", "s-8": "› dig deeper"}
        here.backend.past.hits = ["s-8"]
        await here.send("/sessions")
        await here.until(lambda: isinstance(here.app.screen, SessionPicker))
        picker = here.app.screen
        assert isinstance(picker, SessionPicker)
        await here.until(lambda: "make petals" in str(picker._below.content))
        await here.press(*"shovel")
        await here.until(lambda: picker.under_cursor == "s-8")
        await here.press("enter")
        await here.until(lambda: "resume s-8" in here.backend.calls)

from pathlib import Path

import pytest

import agent_tui.ui.screens
from agent_tui.ui.screens.frame import BETWEEN, Frame, fit_legend
from agent_tui.ui.screens.help import Help
from tests.support.gallery import SCENES, at_rest, program, reach
from tests.support.screens import Stage

FRAMED = {
    "help",
    "themes",
    "models",
    "sessions",
    "history",
    "permissions",
    "trust",
    "settings",
    "settings-project",
    "settings-value",
    "settings-problems",
    "rewind",
    "diff",
    "mcp",
    "bypass",
    "question",
    "welcome",
}
LEGEND = "Enter opens · F2 names · F3 takes out · Esc closes"


@pytest.mark.parametrize(
    ("width", "fitted"),
    [
        (50, LEGEND),
        (49, "Enter opens · F2 names · Esc closes · F1 all"),
        (43, "Enter opens · Esc closes · F1 all"),
        (33, "Enter opens · Esc closes · F1 all"),
        (32, "Enter opens · Esc closes"),
        (18, "Esc closes"),
        (9, ""),
    ],
)
def test_whole_keys_are_named_the_way_out_first(width: int, fitted: str) -> None:
    assert fit_legend(LEGEND, width, "F1 all") == fitted


def test_without_a_key_for_help_more_keys_fit() -> None:
    assert fit_legend(LEGEND, 38, "") == "Enter opens · F2 names · Esc closes"


def test_cells_count_not_characters() -> None:
    assert fit_legend("日本語 · Esc", 12, "") == "日本語 · Esc"
    assert fit_legend("日本語 · Esc", 11, "") == "Esc"


def test_every_dialog_names_its_keys_through_its_frame() -> None:
    folder = Path(agent_tui.ui.screens.__file__).parent

    by_hand = {file.name for file in folder.rglob("*.py") if "border_subtitle" in file.read_text("utf-8")}

    assert by_hand == {"frame.py"}


def edge(here: Stage) -> tuple[Frame, str]:
    """Give the frame in front and the row on which its lower edge is drawn."""
    frame = here.app.screen.query_one(Frame)
    rows = here.picture().split("\n")
    return frame, rows[frame.region.bottom - 1] if frame.region.bottom <= len(rows) else ""


@pytest.mark.parametrize("name", sorted(FRAMED))
async def test_no_key_of_a_dialog_is_cut_on_a_small_screen(name: str) -> None:
    app, backend = program(SCENES[name], "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        here = await reach(SCENES[name], app, pilot, backend)
        for size in ((40, 12), (20, 5), (120, 40)):
            await pilot.resize_terminal(*size)
            await at_rest(here)

            frame, row = edge(here)
            shown = str(frame.border_subtitle)
            known = [*frame.legend.split(BETWEEN), "F1 all"]
            assert all(part in known for part in shown.split(BETWEEN) if part), (size, shown)
            assert shown in row, (size, here.picture())
            assert shown.split(BETWEEN)[0] or size == (20, 5)
            assert frame.legend.split(BETWEEN)[-1] in shown or size == (20, 5), (size, shown)
            assert shown == frame.legend or size != (120, 40)


async def test_the_reader_names_whole_keys_too() -> None:
    app, backend = program(SCENES["reader"], "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        here = await reach(SCENES["reader"], app, pilot, backend)
        for size in ((40, 12), (20, 5)):
            await pilot.resize_terminal(*size)
            await at_rest(here)

            last = here.picture().rstrip("\n").split("\n")[-1].strip()
            assert last.split(BETWEEN)[1:] in ([], ["q closes"], ["q closes", "F1 all"]), last


async def test_the_rest_of_the_keys_stands_in_the_help_that_opens_above_a_dialog() -> None:
    app, backend = program(SCENES["mcp"], "dark")
    async with app.run_test(size=(40, 12)) as pilot:
        here = await reach(SCENES["mcp"], app, pilot, backend)
        dialog = app.screen
        await here.press("f1", "f1")
        await here.settle()
        assert isinstance(app.screen, Help)
        assert app.screen_stack[-2] is dialog

        await here.press("escape")
        await here.until(lambda: app.screen is dialog)

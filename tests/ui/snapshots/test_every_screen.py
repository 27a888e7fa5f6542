import pytest

from tests.support.gallery import PICTURES, SCENES, THEMES, in_front, program, reach
from tests.support.shots import shoot
from tests.support.take_shots import FOLDER, file_of, picture

AA = 4.5
COLOURED = sorted(file.stem for file in THEMES.glob("*.toml") if file.stem != "terminal")
READ = (
    "conversation",
    "welcome",
    "commands",
    "help",
    "search",
    "reader",
    "permissions",
    "trust",
    "settings",
    "settings-problems",
    "question",
    "approval",
    "approval-one",
)


@pytest.mark.parametrize(
    ("name", "size"), PICTURES, ids=[f"{name}-{size[0]}x{size[1]}" for name, size in PICTURES]
)
async def test_every_screen_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    # After a wanted change: python -m tests.support.take_shots, and look at what it changed.
    assert await picture(name, size) == file_of(name, size).read_text(encoding="utf-8")


def test_every_picture_has_its_screen() -> None:
    known = {file_of(name, size).name for name, size in PICTURES}

    assert {file.name for file in FOLDER.glob("*.txt")} == known


@pytest.mark.parametrize("name", READ)
async def test_text_on_screen_can_be_read_in_every_theme(name: str) -> None:
    app, backend = program(SCENES[name], "dark")
    weak: dict[str, list[str]] = {}
    async with app.run_test(size=(80, 24)) as pilot:
        await reach(SCENES[name], app, pilot, backend)
        for theme in COLOURED:
            app.use_theme(app.shelf.load(theme))
            await pilot.pause()
            if found := shoot(app).weak(AA, in_front(app)):
                weak[theme] = found

    assert weak == {}


@pytest.mark.parametrize("theme", ["terminal", "high-contrast-dark", "colour-blind-light"])
async def test_item_63_a_change_of_theme_repaints_open_panels_and_dialogs(theme: str) -> None:
    app, backend = program(SCENES["conversation"], "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await reach(SCENES["conversation"], app, pilot, backend)
        before = shoot(app)
        app.use_theme(app.shelf.load(theme))
        await pilot.pause()
        after = shoot(app)
    fresh, core = program(SCENES["conversation"], theme)
    async with fresh.run_test(size=(80, 24)) as pilot:
        await reach(SCENES["conversation"], fresh, pilot, core)
        expected = shoot(fresh)

    assert after.text == before.text
    assert after.styles() == expected.styles()
    assert after.styles() != before.styles()

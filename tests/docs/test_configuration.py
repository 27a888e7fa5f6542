import re
import tomllib
from dataclasses import fields
from pathlib import Path

from agent_tui.config.load import Layer, load
from agent_tui.config.settings import Settings
from agent_tui.permissions.grammar import Layer as RuleLayer
from agent_tui.permissions.sources import RuleFile, load_book
from agent_tui.ui.palette import Palette
from agent_tui.ui.themes import ThemeShelf

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()


def example() -> str:
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_example_settings_load_without_a_problem(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(example())

    loaded = load([Layer("user", tmp_path / "config.toml")])

    assert not loaded.problems
    book = load_book([RuleFile(tmp_path / "config.toml", RuleLayer.USER, tmp_path)])
    assert (len(book.rules), book.problems) == (4, ())


def test_every_section_of_the_settings_is_on_the_page() -> None:
    assert set(tomllib.loads(example())) == set(Settings.model_fields)


def test_example_of_a_theme_can_be_chosen(tmp_path: Path) -> None:
    found = re.search(r"## Themes.*?```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "dusk.toml").write_text(found[1])

    theme = ThemeShelf([tmp_path]).load("dusk")

    assert (theme.label, theme.palette.is_dark, theme.palette.accent) == ("Dusk", True, "#ffaf5f")


def test_every_colour_of_a_theme_is_on_the_page() -> None:
    named = re.search(r"<!-- colours -->(.*)<!-- end of colours -->", PAGE, re.DOTALL)
    assert named is not None
    colours = {field.name for field in fields(Palette)} - {"is_dark", "ansi"}

    assert set(re.findall(r"`(\w+)`", named[1])) == colours

from dataclasses import asdict, fields
from pathlib import Path

import pytest

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.palette import Palette, contrast, ink_on
from agent_tui.ui.themes import AA, BUILT_IN, ThemeShelf, read_theme, textual_theme

FOLDER = Path(__file__).parents[2] / "themes"
FILES = sorted(FOLDER.glob("*.toml"))
COLOURED = [file for file in FILES if file.stem != "terminal"]

ON_PAGE = [
    "text",
    "muted",
    "faint",
    "accent",
    "success",
    "warning",
    "error",
    "heading",
    "link",
    "quote",
    "thinking",
    "cursor",
    "diff_hunk",
    "code_text",
]
TOKENS = [field.name for field in fields(Palette) if field.name.startswith("tok_")]


def pairs(palette: Palette) -> list[tuple[str, str]]:
    found = [(text, behind) for text in ON_PAGE for behind in ("background", "surface", "user_bg")]
    found += [
        (token, behind)
        for token in TOKENS
        for behind in ("background", "code_bg", "diff_add_bg", "diff_del_bg")
    ]
    found += [
        ("text", "selection"),
        ("text", "panel"),
        ("muted", "panel"),
        ("inline_code", "inline_code_bg"),
        ("diff_add", "diff_add_bg"),
        ("diff_del", "diff_del_bg"),
        ("line_number", "background"),
    ]
    return found


@pytest.mark.parametrize("file", COLOURED, ids=lambda file: file.stem)
def test_what_lies_over_code_can_be_read_whatever_colour_the_code_has(file: Path) -> None:
    palette = read_theme(file).palette

    for behind in ("selection", "search", "search_current", "diff_add_word", "diff_del_word"):
        colour = getattr(palette, behind)
        assert contrast(ink_on(palette, colour), colour) >= AA, behind


def test_with_the_terminals_own_colours_ink_and_ground_are_never_the_same() -> None:
    palette = read_theme(FOLDER / "terminal.toml").palette

    for behind in ("selection", "search", "search_current", "diff_add_word", "diff_del_word"):
        colour = getattr(palette, behind)
        assert ink_on(palette, colour) not in ("", colour)
    assert ink_on(palette, "default") == ""


def colours(file: Path) -> dict[str, str]:
    return asdict(read_theme(file).palette)


def test_a94_there_are_at_least_ten_themes_with_dark_and_light_first() -> None:
    names = ThemeShelf([FOLDER]).names()

    assert names[:2] == ["dark", "light"]
    assert len(names) >= 10
    assert {"high-contrast-dark", "high-contrast-light", "colour-blind-dark", "terminal"} <= set(names)


@pytest.mark.parametrize("file", COLOURED, ids=lambda file: file.stem)
def test_text_of_every_theme_has_enough_contrast(file: Path) -> None:
    found = colours(file)

    weak = {
        f"{text} on {behind}": round(contrast(found[text], found[behind]), 2)
        for text, behind in pairs(read_theme(file).palette)
        if contrast(found[text], found[behind]) < AA
    }

    assert weak == {}


@pytest.mark.parametrize("file", COLOURED, ids=lambda file: file.stem)
def test_the_marked_row_of_a_list_can_be_read_in_every_theme(file: Path) -> None:
    found = colours(file)
    row = textual_theme(read_theme(file)).variables["cursor-row"]

    assert row != found["surface"]
    for text in ("text", "muted", "accent", "warning", "error", "success"):
        assert contrast(found[text], row) >= AA


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_bundled_theme_names_every_colour(file: Path) -> None:
    import tomllib

    table = tomllib.loads(file.read_text())

    names = {field.name for field in fields(Palette)}
    assert set(table["colors"]) == names - {"is_dark", "ansi"}
    assert len(table["ansi"]) == 16


def test_the_bundled_dark_and_light_are_the_built_in_ones() -> None:
    for name, theme in BUILT_IN.items():
        assert read_theme(FOLDER / f"{name}.toml").palette == theme.palette


def test_a_users_theme_may_name_only_what_differs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('label = "Mine"\ndark = false\n[colors]\naccent = "#aa0000"\n')

    theme = ThemeShelf([FOLDER, tmp_path]).load("MINE")

    assert theme.label == "Mine"
    assert theme.palette.accent == "#aa0000"
    assert theme.palette.background == Palette.LIGHT.background


def test_a_users_file_takes_the_place_of_a_bundled_one(tmp_path: Path) -> None:
    (tmp_path / "nord.toml").write_text('label = "My Nord"\n')

    assert ThemeShelf([FOLDER, tmp_path]).load("nord").label == "My Nord"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("dark = 3\n", "bad.toml:1: dark: expected true or false"),
        ('[colors]\nacent = "#ffffff"\n', "bad.toml:2: colors.acent: no such colour"),
        ('[colors]\naccent = "blau"\n', "bad.toml:2: colors.accent: expected a colour"),
        ("colors = 3\n", "bad.toml:1: colors: expected a table"),
        ('ansi = ["red"]\n', "bad.toml:1: ansi: expected a list of 16"),
        ("extra = 1\n", "bad.toml:1: extra: a theme has no such key; there are label"),
        ("dark = \n", "bad.toml:1: theme: not valid TOML"),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_file_and_key(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "bad.toml").write_text(text)

    with pytest.raises(ConfigError) as caught:
        ThemeShelf([tmp_path]).load("bad")

    assert "bad.toml" in str(caught.value)
    assert part in str(caught.value)


@pytest.mark.parametrize("name", ["nope", "../dark", "", "a b"])
def test_an_unknown_name_lists_what_there_is(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^there is no theme .*(dark, light|did you mean .dark.)"):
        ThemeShelf([FOLDER]).load(name)

import dataclasses

import pytest

from agent_tui.ui.palette import Palette, contrast

TEXT = [
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
    "user_bar",
    "cursor",
    "diff_hunk",
]
TOKENS = [field.name for field in dataclasses.fields(Palette) if field.name.startswith("tok_")]
BOTH = pytest.mark.parametrize("palette", [Palette.DARK, Palette.LIGHT], ids=["dark", "light"])


def colour(palette: Palette, name: str) -> str:
    value = vars(palette)[name]
    assert isinstance(value, str)
    return value


@BOTH
@pytest.mark.parametrize("name", TEXT)
def test_text_meets_wcag_aa_on_every_plain_ground(palette: Palette, name: str) -> None:
    for ground in (palette.background, palette.surface):
        assert contrast(colour(palette, name), ground) >= 4.5


@BOTH
@pytest.mark.parametrize("name", [*TOKENS, "code_text", "diff_add", "diff_del"])
def test_code_meets_wcag_aa_on_code_and_plain_ground(palette: Palette, name: str) -> None:
    for ground in (palette.background, palette.code_bg):
        assert contrast(colour(palette, name), ground) >= 4.5


@BOTH
def test_text_stays_readable_on_coloured_grounds(palette: Palette) -> None:
    for ground in (
        "user_bg",
        "selection",
        "search",
        "diff_add_bg",
        "diff_del_bg",
        "diff_add_word",
        "diff_del_word",
    ):
        assert contrast(palette.text, colour(palette, ground)) >= 4.5
    assert contrast(palette.text, palette.search_current) >= 3.0
    assert contrast(palette.inline_code, palette.inline_code_bg) >= 4.5


@BOTH
def test_code_stays_readable_on_diff_grounds(palette: Palette) -> None:
    for name in [*TOKENS, "code_text", "line_number"]:
        for ground in (palette.diff_add_bg, palette.diff_del_bg):
            assert contrast(colour(palette, name), ground) >= 4.0


@BOTH
def test_output_colours_are_sixteen_and_readable(palette: Palette) -> None:
    assert len(palette.ansi) == 16
    assert all(contrast(value, palette.background) >= 3.0 for value in palette.ansi)


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)

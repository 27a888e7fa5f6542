"""The named colours that the transcript and the widgets draw with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Palette:
    """One set of colours. A colour is `#rrggbb`, one of rich's ANSI names, or "default" (the terminal's own).

    Names that end in `_bg`, and `background`, `surface`, `panel`, `selection`, `search`, `search_current`,
    `diff_add_word` and `diff_del_word` are drawn behind text; `tok_*` colour code; `ansi` are the 16 colours
    of output that carries its own (black, red, green, yellow, blue, magenta, cyan, white, then bright ones).
    """

    DARK: ClassVar[Palette]
    LIGHT: ClassVar[Palette]

    is_dark: bool
    background: str
    surface: str
    panel: str
    border: str
    text: str
    muted: str
    faint: str
    accent: str
    success: str
    warning: str
    error: str
    user_bar: str
    user_bg: str
    cursor: str
    selection: str
    search: str
    search_current: str
    scrollbar: str
    scrollbar_thumb: str
    code_bg: str
    code_text: str
    inline_code: str
    inline_code_bg: str
    heading: str
    link: str
    quote: str
    rule: str
    thinking: str
    diff_add: str
    diff_add_bg: str
    diff_add_word: str
    diff_del: str
    diff_del_bg: str
    diff_del_word: str
    diff_hunk: str
    line_number: str
    tok_keyword: str
    tok_function: str
    tok_class: str
    tok_builtin: str
    tok_variable: str
    tok_string: str
    tok_escape: str
    tok_number: str
    tok_constant: str
    tok_comment: str
    tok_operator: str
    tok_punctuation: str
    tok_decorator: str
    tok_tag: str
    tok_attribute: str
    tok_error: str
    ansi: tuple[str, ...]


Palette.DARK = Palette(
    is_dark=True,
    background="#15171c",
    surface="#1c1f26",
    panel="#22262f",
    border="#3b4250",
    text="#d8dce4",
    muted="#9ea7b6",
    faint="#828c9c",
    accent="#8fb4ff",
    success="#8ccf8e",
    warning="#e6c07a",
    error="#f2818d",
    user_bar="#8fb4ff",
    user_bg="#1e222b",
    cursor="#e6c07a",
    selection="#2c4675",
    search="#54471c",
    search_current="#8a5a12",
    scrollbar="#1c1f26",
    scrollbar_thumb="#465062",
    code_bg="#1a1d24",
    code_text="#d3d8e2",
    inline_code="#e6bd8f",
    inline_code_bg="#23272f",
    heading="#b9ccff",
    link="#79c0f2",
    quote="#a9b2c1",
    rule="#3b4250",
    thinking="#909aab",
    diff_add="#8ccf8e",
    diff_add_bg="#17291e",
    diff_add_word="#24533a",
    diff_del="#f2818d",
    diff_del_bg="#331c21",
    diff_del_word="#692c36",
    diff_hunk="#8fa9d6",
    line_number="#7e8797",
    tok_keyword="#c49cf2",
    tok_function="#86b4ff",
    tok_class="#e6c98a",
    tok_builtin="#72c8d6",
    tok_variable="#d3d8e2",
    tok_string="#9dd08c",
    tok_escape="#72c8d6",
    tok_number="#e6b086",
    tok_constant="#e6b086",
    tok_comment="#828c9c",
    tok_operator="#a9bcd4",
    tok_punctuation="#a3abba",
    tok_decorator="#dda3dd",
    tok_tag="#f08f99",
    tok_attribute="#e6c98a",
    tok_error="#f2818d",
    ansi=(
        "#5c6675",
        "#f2818d",
        "#8ccf8e",
        "#e6c07a",
        "#86b4ff",
        "#c49cf2",
        "#72c8d6",
        "#d8dce4",
        "#828c9c",
        "#ff9aa5",
        "#a6e0a6",
        "#f2d394",
        "#a5c8ff",
        "#d6b6ff",
        "#93dbe6",
        "#f4f6fa",
    ),
)

Palette.LIGHT = Palette(
    is_dark=False,
    background="#fcfcfa",
    surface="#f4f4f0",
    panel="#ebebe5",
    border="#c6c8c4",
    text="#24292f",
    muted="#535c66",
    faint="#616b74",
    accent="#2f55c8",
    success="#1c7434",
    warning="#855b00",
    error="#b8263c",
    user_bar="#2f55c8",
    user_bg="#eff1f6",
    cursor="#985c00",
    selection="#c3d6fb",
    search="#fbeaa0",
    search_current="#ffc66b",
    scrollbar="#f4f4f0",
    scrollbar_thumb="#bdc1c6",
    code_bg="#f5f5f1",
    code_text="#24292f",
    inline_code="#8a4a00",
    inline_code_bg="#efeee8",
    heading="#1f3f9e",
    link="#0b5cad",
    quote="#535c66",
    rule="#c6c8c4",
    thinking="#5f6871",
    diff_add="#1c7434",
    diff_add_bg="#e3f5e6",
    diff_add_word="#b3e6bd",
    diff_del="#b8263c",
    diff_del_bg="#fce9ea",
    diff_del_word="#f6c2c7",
    diff_hunk="#3f5f9c",
    line_number="#667079",
    tok_keyword="#7a35b8",
    tok_function="#1d50b5",
    tok_class="#7c5a00",
    tok_builtin="#0b6b78",
    tok_variable="#24292f",
    tok_string="#256b2c",
    tok_escape="#0b6b78",
    tok_number="#98480b",
    tok_constant="#98480b",
    tok_comment="#5d6670",
    tok_operator="#46566b",
    tok_punctuation="#535c66",
    tok_decorator="#96338f",
    tok_tag="#b02a3a",
    tok_attribute="#7c5a00",
    tok_error="#b8263c",
    ansi=(
        "#24292f",
        "#b8263c",
        "#1c7434",
        "#855b00",
        "#2f55c8",
        "#7a35b8",
        "#0b6b78",
        "#667079",
        "#535c66",
        "#a3182d",
        "#14602a",
        "#6f4c00",
        "#1f3f9e",
        "#66259f",
        "#085862",
        "#57606a",
    ),
)


AA = 4.5
"""The least contrast of text, after WCAG 2."""


_ON_ANSI = {
    "black": "bright_white",
    "red": "bright_white",
    "green": "black",
    "yellow": "black",
    "blue": "bright_white",
    "magenta": "bright_white",
    "cyan": "black",
    "white": "black",
}
"""What can be read on a terminal's own colours, as most palettes have them."""


def ink_on(palette: Palette, behind: str) -> str:
    """Give a colour that can be read on `behind`: that of text, else black or white; "" keeps what there is.

    On a background that lies over code, such as a match, the colours of code cannot all be read.
    """
    if not behind.startswith("#"):
        return _ON_ANSI.get(behind.removeprefix("bright_"), "")
    if not palette.text.startswith("#"):
        return ""
    if contrast(palette.text, behind) >= AA:
        return palette.text
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, behind))


def contrast(one: str, other: str) -> float:
    """Give the WCAG contrast ratio of two `#rrggbb` colours, 1.0 to 21.0."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""Palette colours to rich styles, each made once."""

from __future__ import annotations

from rich.color import Color
from rich.style import Style

from agent_tui.ui.palette import Palette

_PLAIN = Style()


class Inks:
    """The styles of one palette. Colours given to it are palette values or names rich knows; "" sets none."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self._made: dict[tuple[str, str, str], Style] = {}
        self._tokens: dict[object, Style] = {}
        self.base = self(palette.text, palette.background)
        self.text = self(palette.text)
        self.muted = self(palette.muted)
        self.faint = self(palette.faint)
        self.accent = self(palette.accent)

    def __call__(self, colour: str = "", background: str = "", attributes: str = "") -> Style:
        """Give the style with these colours; `attributes` are letters of b, i, u, s, r (bold ... reverse)."""
        key = (colour, background, attributes)
        style = self._made.get(key)
        if style is None:
            style = self._made[key] = Style(
                color=Color.parse(colour) if colour else None,
                bgcolor=Color.parse(background) if background else None,
                bold="b" in attributes or None,
                italic="i" in attributes or None,
                underline="u" in attributes or None,
                strike="s" in attributes or None,
                reverse="r" in attributes or None,
            )
        return style

    def token(self, token: object, make: str) -> Style:
        """Give the style of a code token type, whose palette colour is named `make` the first time."""
        style = self._tokens.get(token)
        if style is None:
            style = self._tokens[token] = self(make)
        return style

    @staticmethod
    def plain() -> Style:
        """Give the style that sets nothing."""
        return _PLAIN

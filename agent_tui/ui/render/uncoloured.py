"""Draws without any colour, for NO_COLOR: what stood out by its ground is shown in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, Monochrome

STANDS_OUT = 0.25
"""A difference of brightness (0 to 1) that no tint of a ground reaches, and every cursor and chosen row does."""


class Uncoloured(LineFilter):
    """Leaves attributes, and makes them of colours where a colour alone would say something."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Give the segments without colours; `background` is what they stand on."""
        return [
            Segment(text, bare(style, background) if style else style, control)
            for text, style, control in segments
        ]


@lru_cache(1024)
def bare(style: Style, background: Color) -> Style:
    """Give a style without colours, reversed when its ground stands out from `background`."""
    plain = style.without_color
    if style.meta:  # where a click on it leads
        plain += Style.from_meta(style.meta)
    if style.reverse or not _stands_out(style.bgcolor, background):
        return plain
    return plain + Style(reverse=True)


def _stands_out(ground: RichColor | None, background: Color) -> bool:
    if ground is None or ground.is_default:
        return False
    brightness = Color.from_rich_color(ground).brightness
    return abs(brightness - background.brightness) > STANDS_OUT


def without_greys(filters: Sequence[LineFilter]) -> list[LineFilter]:
    """Put `Uncoloured` in the place of Textual's filter for NO_COLOR, which writes greys: colours still."""
    return [Uncoloured() if isinstance(one, Monochrome) else one for one in filters]

"""One line of a list whose parts give way, each in its turn, where there is little room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from textual.content import Content, Span

from agent_tui.ui.render.rows import index_at


@dataclass(frozen=True)
class Part:
    """A piece of a line. In each (turn, cells) of `gives` it shrinks to so many cells, if earlier turns were not enough.

    `middle` leaves out the middle of it instead of the end.
    """

    content: Content
    gives: Sequence[tuple[int, int]] = ()
    middle: bool = False

    def fit(self, width: int) -> Content:
        """Give it in at most `width` cells."""
        if not self.middle or self.content.cell_length <= width or width < 5:
            return self.content.truncate(width, ellipsis=True)
        head, text = width // 2, self.content.plain
        start = index_at(text, self.content.cell_length - (width - 1 - head))
        parts = (self.content[: index_at(text, head)], Content("…"), self.content[start:])
        return Content("").join(parts).truncate(width, ellipsis=True)


@dataclass(frozen=True)
class Elastic:
    """A line of parts."""

    parts: Sequence[Part]

    @cached_property
    def whole(self) -> Content:
        """The line with nothing left out."""
        return Content("").join([part.content for part in self.parts])

    @property
    def plain(self) -> str:
        """The line as plain text."""
        return self.whole.plain

    @property
    def spans(self) -> Sequence[Span]:
        """The styles of the line."""
        return self.whole.spans

    def truncate(self, width: int, *, ellipsis: bool = True) -> Content:
        """Give the line in at most `width` cells; what no part can give is cut from the end."""
        over = self.whole.cell_length - width
        if over <= 0:
            return self.whole
        sizes = [part.content.cell_length for part in self.parts]
        turns = sorted((turn, at, cells) for at, part in enumerate(self.parts) for turn, cells in part.gives)
        for _, at, cells in turns:
            given = min(over, max(0, sizes[at] - cells))
            sizes[at] -= given
            over -= given
        fitted = [part.fit(size) for part, size in zip(self.parts, sizes, strict=True)]
        return Content("").join(fitted).truncate(width, ellipsis=ellipsis)

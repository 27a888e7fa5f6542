"""Rows to finished strips, kept by identity so that an unchanged row costs nothing in the next frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.selection import Selection
from textual.strip import Strip

from agent_tui.ui.palette import ink_on
from agent_tui.ui.render.rows import Row, cells, marked
from agent_tui.ui.transcript.cache import Bounded
from agent_tui.ui.transcript.document import Document
from agent_tui.ui.transcript.search import row_spans
from agent_tui.ui.transcript.selection import place, span

STRIP_ROWS = 600
GUTTER = 2
MARGIN = 2
BAR = "▌"
THUMB = "▐"
_GAP = (1 << 24) - 1


class Painter:
    """Makes strips of `width` cells: gutter, row, padding and the cell of the scrollbar.

    `cursor` is the marked block, `needle` what is searched, `current` the (block, row) of the match in focus.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._strips: Bounded[int, Strip] = Bounded(STRIP_ROWS)
        self._filters: Sequence[LineFilter] = ()
        self.width = 0
        self.cursor: int | None = None
        self.needle = ""
        self.current: tuple[int, int] | None = None

    def clear(self) -> None:
        """Forget all strips."""
        self._strips.clear()

    def forget(self, stamp: int, first: int, stop: int) -> None:
        """Forget the strips of rows `first` to `stop` of a block."""
        for inside in range(first, stop):
            self._strips.drop(_key(stamp, inside, False))
            self._strips.drop(_key(stamp, inside, True))

    def use_filters(self, filters: Sequence[LineFilter]) -> None:
        """Draw through these filters (NO_COLOR, ANSI themes)."""
        if list(filters) != list(self._filters):
            self._filters = list(filters)
            self.clear()

    def strip(self, index: int, inside: int, on_thumb: bool) -> Strip:
        """Give the strip of a row of a block (negative rows are the gap above it)."""
        stamp = self._document.blocks[index].stamp if inside >= 0 else 0
        key = _key(stamp, inside, on_thumb)
        strip = self._strips.get(key)
        if strip is None:
            row = self._document.row(index, inside)
            strip = self._finish(row, index, inside, on_thumb)
            self._strips.put(key, strip)
        return strip

    def blank(self, on_thumb: bool) -> Strip:
        """Give the strip of a row below the last block."""
        return self.strip(0, -1, on_thumb) if self._document.blocks else self._padded([], None, on_thumb)

    def selected(self, selection: Selection, index: int, inside: int, on_thumb: bool) -> Strip:
        """Give the strip of a row with what is selected of it marked."""
        covered = span(selection, index, inside)
        if covered is None:
            return self.strip(index, inside, on_thumb)
        start, end = covered
        row = self._document.row(index, inside)
        drawn = row.text
        end = len(drawn) if end < 0 else min(end, len(drawn))
        palette = self._document.inks.palette
        mark = self._document.inks(ink_on(palette, palette.selection), palette.selection)
        runs = marked(row.runs, [(max(start, row.start), end, mark)])
        return self._finish(row._replace(runs=runs), index, inside, on_thumb)

    def line(self, index: int, inside: int) -> Strip:
        """Give a row as the pointer finds it: each run carries its place in the conversation."""
        row, y = self._document.row(index, inside), place(index, inside)
        segments = [Segment(" ", _at(0, y)), Segment(" ", _at(0, y))]
        offset = 0
        for text, _, _ in row.runs:
            segments.append(Segment(text, _at(offset, y)))
            offset += len(text)
        return Strip(segments)

    def _finish(self, row: Row, index: int, inside: int, on_thumb: bool) -> Strip:
        runs = row.runs
        if self.needle and inside >= 0:
            runs = marked(runs, self._found(row, index, inside))
        return self._padded([self._gutter(index, inside, row.fill), *runs], row.fill, on_thumb)

    def _found(self, row: Row, index: int, inside: int) -> list[tuple[int, int, Style]]:
        palette, inks = self._document.inks.palette, self._document.inks
        colour = palette.search_current if self.current == (index, inside) else palette.search
        mark = inks(ink_on(palette, colour), colour, "b")
        return [(start, end, mark) for start, end in row_spans(row.text, self.needle)]

    def _gutter(self, index: int, inside: int, fill: Style | None) -> Segment:
        inks = self._document.inks
        palette = inks.palette
        is_user = inside >= 0 and self._document.blocks[index].data.kind == "user"
        ground = palette.user_bg if is_user else palette.background
        if inside >= 0 and index == self.cursor:
            return Segment(BAR + " ", inks(palette.cursor, ground))
        if is_user:
            return Segment(BAR + " ", inks(palette.user_bar, ground))
        return Segment(" " * GUTTER, inks.base)

    def _padded(self, runs: Sequence[Segment], fill: Style | None, on_thumb: bool) -> Strip:
        inks = self._document.inks
        base = inks.base + fill if fill else inks.base
        segments = [Segment(text, base + style if style else base) for text, style, _ in runs if text]
        room, used = self.width - 1, cells(segments)
        if used > room:
            segments = list(Strip(segments, used).crop(0, max(0, room)))
        else:
            filled = max(0, self.width - MARGIN - used) if fill else 0
            segments.append(Segment(" " * filled, base))
            segments.append(Segment(" " * (room - used - filled), inks.base))
        thumb = inks(inks.palette.scrollbar_thumb, inks.palette.background)
        segments.append(Segment(THUMB, thumb) if on_thumb else Segment(" ", inks.base))
        segments = _merged(segments)
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background())
        return RowStrip(segments, max(1, self.width))

    def _background(self) -> Color:
        colour = self._document.inks.palette.background
        return Color.parse(colour if colour.startswith("#") else "#000000")


class RowStrip(Strip):
    """A strip that does not hold itself.

    Textual's keeps a list of its pieces for each way it was cut, also that it is one piece. Each row that was painted
    was a ring that only a full collection frees: 1.7 MB a reply of 20,000 tokens, in pieces that no later one fills.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Cut at these cells."""
        inside = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if inside == [self.cell_length] else super().divide(inside)


def _merged(segments: Sequence[Segment]) -> list[Segment]:
    """Join neighbours of the same style: fewer objects to keep and half the bytes to write."""
    merged: list[Segment] = []
    for segment in segments:
        if merged and merged[-1].style == segment.style:
            merged[-1] = Segment(merged[-1].text + segment.text, segment.style)
        elif segment.text:
            merged.append(segment)
    return merged


def link_at(row: Row, x: int) -> str:
    """Give the URL of the link at cell `x` of a row, or ""."""
    used = 0
    for run in row.runs:
        used += cells([run])
        if x < used:
            return (run.style.link or "") if run.style and x >= 0 else ""
    return ""


def _key(stamp: int, inside: int, on_thumb: bool) -> int:
    return (stamp << 26) | ((inside if inside >= 0 else _GAP) << 1) | on_thumb


def _at(x: int, y: int) -> Style:
    return Style.from_meta({"offset": (x, y)})

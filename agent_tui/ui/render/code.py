"""Lines of source or output with numbers, wrapped, and styled only when they are looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style

from agent_tui.ui.render.rows import Row, Span, expand_tabs, slice_runs, wrap

Paint = Callable[[int], Sequence[Segment]]


class Lines:
    """A body of source lines. `paint(i)` gives the runs of line i with its tabs expanded; it is called lazily.

    `first_line` is the number of the first line, 0 for none. Wrapped lines continue under their text.
    """

    def __init__(
        self,
        lines: Sequence[str],
        paint: Paint,
        width: int,
        *,
        first_line: int = 0,
        number_style: Style | None = None,
        fill: Style | None = None,
        tab_columns: int = 4,
    ) -> None:
        self._lines = lines
        self._paint = paint
        self._first = first_line
        self._tab = tab_columns
        self._number_style = number_style
        self._fill = fill
        self._digits = len(str(first_line + max(0, len(lines) - 1))) if first_line else 0
        self._text_width = max(1, width - (self._digits + 2 if first_line else 0))
        self._wrapped: tuple[str, list[Span]] = ("", [Span(0, 0, 0)])  # the last line asked for
        self._starts = self._count()

    def _count(self) -> list[int] | None:
        """Give the first row of each line, or None when every line has one row."""
        width = self._text_width
        if all(len(line) <= width and line.isascii() and "\t" not in line for line in self._lines):
            return None
        starts, total = [0], 0
        for line in self._lines:
            drawn = expand_tabs(line, self._tab)
            total += 1 if len(drawn) <= width and drawn.isascii() else len(wrap(drawn, width))
            starts.append(total)
        return starts

    @property
    def height(self) -> int:
        return len(self._lines) if self._starts is None else self._starts[-1]

    def row(self, index: int) -> Row:
        if self._starts is None:
            line, part = index, 0
        else:
            line = bisect_right(self._starts, index) - 1
            part = index - self._starts[line]
        runs = self._paint(line)
        source = self._lines[line] if "\t" in self._lines[line] else None
        join: str | None = None
        if self._starts is not None and self._starts[line + 1] - self._starts[line] > 1:
            runs, join = self._piece(runs, part)
            source = None
        head = self._head(line, part)
        size = sum([len(run.text) for run in head])
        return Row([*head, *runs], size, join, self._fill, source)

    def _piece(self, runs: Sequence[Segment], part: int) -> tuple[Sequence[Segment], str | None]:
        text = "".join([run.text for run in runs])
        if self._wrapped[0] != text:
            self._wrapped = (text, wrap(text, self._text_width))
        spans = self._wrapped[1]
        span = spans[min(part, len(spans) - 1)]
        join = text[span.end : span.after] if part < len(spans) - 1 else None
        return slice_runs(runs, [span])[0], join

    def _head(self, line: int, part: int) -> list[Segment]:
        if not self._first:
            return []
        number = str(self._first + line) if part == 0 else ""
        return [Segment(f"{number:>{self._digits}}  ", self._number_style)]


def split_lines(text: str) -> list[str]:
    """Split at newlines; a final newline adds no line."""
    lines = text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    return lines

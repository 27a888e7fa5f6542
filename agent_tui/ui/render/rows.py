"""Rows of styled runs: what one line on screen holds, wrapping, cutting and padding by cell width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

TAB_COLUMNS = 4
# Closing punctuation that must not stand at the start of a line of Chinese or Japanese.
_NOT_FIRST = frozenset("，。、！？：；）］｝」』》〉】〕…ー々")


class Row(NamedTuple):
    """One line on screen, without margin and padding.

    The first `start` characters of the runs are decoration (a number, a border) that is never copied. `join` is
    None when a newline follows in the source, else the text the wrap swallowed. `fill` is drawn behind the row
    to the right edge. `source` is the text to copy when it is not what is drawn (tabs).
    """

    runs: Sequence[Segment]
    start: int = 0
    join: str | None = None
    fill: Style | None = None
    source: str | None = None

    @property
    def text(self) -> str:
        """The characters drawn, with decoration."""
        return "".join([run.text for run in self.runs])


class Body(Protocol):
    """Rows that can be asked for one by one; `height` is their number at the width it was laid out for."""

    @property
    def height(self) -> int: ...

    def row(self, index: int) -> Row: ...


class RowList:
    """A body whose rows all exist."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    @property
    def height(self) -> int:
        return len(self.rows)

    def row(self, index: int) -> Row:
        return self.rows[index]


class Span(NamedTuple):
    """A piece of a wrapped text: characters `start` to `end`; the next piece begins at `after`."""

    start: int
    end: int
    after: int


def wrap(text: str, width: int) -> list[Span]:
    """Cut one line of text (no tabs, no newlines) into pieces of at most `width` cells, at blanks if possible.

    There is at least one piece, and each but an empty text's holds at least one cluster however narrow the
    width is. Blanks at a cut belong to no piece.
    """
    width = max(1, width)
    if text.isascii():
        if len(text) <= width:
            return [Span(0, len(text), len(text))]
        return _wrap_ascii(text, width)
    if cell_len(text) <= width:
        return [Span(0, len(text), len(text))]
    return _wrap_clusters(text, width)


def _wrap_ascii(text: str, width: int) -> list[Span]:
    spans: list[Span] = []
    at, size = 0, len(text)
    while size - at > width:
        cut = text.rfind(" ", at + 1, at + width + 1)
        end = _trimmed(text, at, cut) if cut > 0 else at
        if end == at:
            spans.append(Span(at, at + width, at + width))
            at += width
            continue
        after = cut + 1
        while after < size and text[after] == " ":
            after += 1
        spans.append(Span(at, end, after))
        at = after
    if at < size or not spans:
        spans.append(Span(at, size, size))
    return spans


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] == " ":
        end -= 1
    return end


def _wrap_clusters(text: str, width: int) -> list[Span]:
    clusters, _ = split_graphemes(text)
    spans: list[Span] = []
    line, used, blank = 0, 0, -1  # line start, cells used, last place to cut (a character index)
    for start, end, cells in clusters:
        char = text[start]
        is_blank = char == " " and end == start + 1
        if is_blank or (cells == 2 and start > line and char not in _NOT_FIRST):
            blank = start
        if is_blank and used + cells > width:
            continue
        while used + cells > width and start > line:
            cut = blank if blank > line and _trimmed(text, line, blank) > line else start
            after = cut
            while text[after] == " ":
                after += 1
            spans.append(Span(line, _trimmed(text, line, cut), after))
            used = cell_len(text[after:start])
            line, blank = after, -1
        used += cells
        if cells == 2 and end < len(text) and text[end] not in _NOT_FIRST and end > line:
            blank = end
    if line < len(text) or not spans:
        spans.append(Span(line, len(text), len(text)))
    return spans


def slice_runs(runs: Sequence[Segment], spans: Sequence[Span]) -> list[list[Segment]]:
    """Cut runs into one list per span (spans in order, offsets into the joined text)."""
    lines: list[list[Segment]] = []
    index, offset = 0, 0  # of the run that holds the place
    for start, end, _ in spans:
        line: list[Segment] = []
        while index < len(runs) and offset + len(runs[index].text) <= start:
            offset += len(runs[index].text)
            index += 1
        while index < len(runs) and offset < end:
            text, style, _ = runs[index]
            piece = text[max(0, start - offset) : end - offset]
            if piece:
                line.append(Segment(piece, style))
            if offset + len(text) > end:
                break
            offset += len(text)
            index += 1
        lines.append(line)
    return lines


def wrap_runs(runs: Sequence[Segment], width: int) -> list[Row]:
    """Wrap one logical line of runs into rows whose `join` says what was swallowed; blanks at its very end are dropped."""
    text = "".join([run.text for run in runs])
    spans = wrap(text, width)
    if len(spans) == 1:
        return [Row(runs)]
    joins: list[str | None] = [text[span.end : span.after] for span in spans[:-1]]
    joins.append(None)
    return [Row(line, join=join) for line, join in zip(slice_runs(runs, spans), joins, strict=True)]


def marked(runs: Sequence[Segment], spans: Sequence[tuple[int, int, Style]]) -> list[Segment]:
    """Lay styles over character ranges (in order, not overlapping) of runs."""
    result: list[Segment] = []
    offset = 0
    for text, style, _ in runs:
        at, stop = offset, offset + len(text)
        for start, end, over in spans:
            if start >= stop or end <= at or end <= start:
                continue
            low, high = max(start, at), min(end, stop)
            if low > at:
                result.append(Segment(text[at - offset : low - offset], style))
            result.append(Segment(text[low - offset : high - offset], style + over if style else over))
            at = high
        if at < stop:
            result.append(Segment(text[at - offset :], style))
        offset = stop
    return result


def indent(rows: Iterable[Row], first: Sequence[Segment], rest: Sequence[Segment]) -> list[Row]:
    """Put decoration before rows: `first` before the first one, `rest` before the others."""
    result: list[Row] = []
    for row in rows:
        head = rest if result else first
        size = sum([len(segment.text) for segment in head])
        result.append(row._replace(runs=[*head, *row.runs], start=row.start + size))
    return result


def cells(runs: Iterable[Segment]) -> int:
    """Give the width of runs in cells."""
    return sum([cell_len(run.text) for run in runs])


def index_at(text: str, cell: int) -> int:
    """Give the character of one line that covers cell `cell`; len(text) behind its end."""
    if text.isascii():
        return max(0, min(cell, len(text)))
    used = 0
    for start, _, size in split_graphemes(text)[0]:
        used += size
        if used > cell:
            return start
    return len(text)


def fit(text: str, width: int) -> str:
    """Cut one line to `width` cells, ending in `…` when something was cut; never through a cluster."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    clusters, _ = split_graphemes(text)
    used, stop = 0, 0
    for _, end, size in clusters:
        if used + size > width - 1:
            break
        used += size
        stop = end
    return text[:stop] + "…"


def expand_tabs(line: str, columns: int = TAB_COLUMNS) -> str:
    """Replace tabs by blanks up to the next multiple of `columns` cells."""
    if "\t" not in line:
        return line
    if line.isascii():
        return line.expandtabs(columns)
    result = ""
    for part in line.split("\t")[:-1]:
        result += part
        result += " " * (columns - cell_len(result) % columns)
    return result + line.rsplit("\t", 1)[1]


def source_index(line: str, column: int, columns: int = TAB_COLUMNS) -> int:
    """Give the character of `line` that stands at character `column` of its `expand_tabs`; len(line) at most."""
    drawn = 0
    for index, char in enumerate(line):
        if drawn >= column:
            return index
        drawn += len(expand_tabs(line[: index + 1], columns)) - drawn if char == "\t" else 1
    return len(line)

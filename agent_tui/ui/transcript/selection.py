"""What a dragged selection covers, and the text of the source under it."""

from __future__ import annotations

from textual.geometry import Offset
from textual.selection import Selection

from agent_tui.ui.render.rows import Row, index_at, source_index
from agent_tui.ui.render.safe import clean
from agent_tui.ui.transcript.document import Document

ROWS_PER_BLOCK = 1 << 24
# Laying out more than this for one copy would be felt; the blocks between the ends give their text as it came.
MOST_BLOCKS = 200


def place(index: int, inside: int) -> int:
    """Give the line number of a row of a block that does not change when blocks above it do."""
    return index * ROWS_PER_BLOCK + max(0, inside)


def span(selection: Selection, index: int, inside: int) -> tuple[int, int] | None:
    """Give the selected characters of a row as (start, end); end -1 means to its end. None: nothing."""
    return selection.get_span(place(index, inside)) if inside >= 0 else None


def selected_text(document: Document, selection: Selection) -> str:
    """Give the selected text as the source has it: no padding, no decoration, wraps undone."""
    if not document.blocks:
        return ""
    start = selection.start or Offset(0, 0)
    last = len(document) - 1
    end = selection.end or Offset(1 << 20, place(last, ROWS_PER_BLOCK - 1))
    first, last = start.y // ROWS_PER_BLOCK, min(last, end.y // ROWS_PER_BLOCK)
    parts: list[str] = []
    for index in range(first, last + 1):
        if last - first > MOST_BLOCKS and first < index < last:
            text = clean(document.blocks[index].text)
        else:
            text = _block_text(document, selection, index, start, end)
        if text:
            parts.append(text.rstrip("\n"))
    return "\n\n".join(parts)


def _block_text(document: Document, selection: Selection, index: int, start: Offset, end: Offset) -> str:
    height = document.body(index).height
    first = start.y % ROWS_PER_BLOCK if start.y // ROWS_PER_BLOCK == index else 0
    last = end.y % ROWS_PER_BLOCK if end.y // ROWS_PER_BLOCK == index else height - 1
    last = min(last, height - 1)
    text = ""
    for inside in range(first, last + 1):
        row = document.row(index, inside)
        covered = span(selection, index, inside)
        if covered is not None:
            text += row_text(row, *covered)
            if inside < last:
                text += "\n" if row.join is None else row.join
    return text


def row_text(row: Row, start: int, end: int) -> str:
    """Give the source text of characters `start` to `end` (-1: all) of a row."""
    drawn = row.text
    stop = len(drawn.rstrip()) if row.source is None else len(drawn)
    whole = end < 0 or end >= stop
    begin, finish = max(start, row.start), stop if end < 0 else min(end, stop)
    if row.source is None:
        return drawn[begin:finish]
    if finish <= begin:
        return ""
    head = source_index(row.source, begin - row.start)
    tail = len(row.source) if whole else source_index(row.source, finish - row.start)
    return row.source[head:tail]


def word_at(document: Document, index: int, inside: int, x: int) -> Selection:
    """Select the word at cell `x` of a row; between words, the blanks or the sign there."""
    text, y = document.row(index, inside).text, place(index, inside)
    at = min(index_at(text, x), max(0, len(text) - 1))
    start = end = at
    kind = _kind(text[at : at + 1])
    while start > 0 and _kind(text[start - 1]) == kind:
        start -= 1
    while end < len(text) and _kind(text[end]) == kind:
        end += 1
    return Selection(Offset(start, y), Offset(end, y))


def _kind(char: str) -> str:
    return "word" if char.isalnum() or char == "_" else "blank" if char.isspace() else char


def line_at(document: Document, index: int, inside: int, x: int) -> Selection:
    """Select the line of the source that a row shows, with all rows it was wrapped into."""
    first = last = inside
    while first > 0 and document.row(index, first - 1).join is not None:
        first -= 1
    while document.row(index, last).join is not None:
        last += 1
    end = len(document.row(index, last).text)
    return Selection(
        Offset(document.row(index, first).start, place(index, first)), Offset(end, place(index, last))
    )

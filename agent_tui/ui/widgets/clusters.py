"""Where a visible character begins and ends: marks, joined emoji and flags stay whole."""

from __future__ import annotations

from rich.cells import split_graphemes

# Two regional indicators are one flag; rich's splitter leaves them apart.
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def cluster_start(line: str, column: int) -> int:
    """Give the column where the visible character before `column` begins."""
    head = line[:column]
    if head.isascii():
        return column - 1
    flags = len(head) - len(head.rstrip(_FLAG_LETTERS))
    if flags:
        return column - (2 if flags % 2 == 0 else 1)
    spans, _ = split_graphemes(head)
    return spans[-1][0] if spans else column - 1


def cluster_end(line: str, column: int) -> int:
    """Give the column after the visible character at `column`."""
    tail = line[column:]
    if tail[:2].isascii():
        return column + 1
    if tail[0] in _FLAG_LETTERS and tail[1:2] and tail[1] in _FLAG_LETTERS:
        return column + 2
    spans, _ = split_graphemes(tail)
    return column + spans[0][1] if spans else column + 1

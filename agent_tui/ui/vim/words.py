"""Where lines, words and paragraphs begin and end, by offset in a text."""

from __future__ import annotations

from collections.abc import Callable

from agent_tui.ui.widgets.clusters import cluster_end, cluster_start


def line_start(text: str, at: int) -> int:
    """Give the offset where the line of `at` begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Give the offset behind the last character of the line of `at`."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def first_non_blank(text: str, at: int) -> int:
    """Give the first character of the line that is no blank; the line's last one when all are blanks."""
    start, end = line_start(text, at), line_end(text, at)
    line = text[start:end]
    return start + (len(line) - len(line.lstrip()) if line.strip() else max(0, len(line) - 1))


def right_of(text: str, at: int) -> int:
    """Give the offset behind the visible character at `at`."""
    start, end = line_start(text, at), line_end(text, at)
    return end if at >= end else start + cluster_end(text[start:end], at - start)


def left_of(text: str, at: int) -> int:
    """Give the offset of the visible character before `at`, within its line."""
    start = line_start(text, at)
    return start if at <= start else start + cluster_start(text[start : line_end(text, at)], at - start)


def resting_place(text: str, at: int) -> int:
    """Move an offset onto a character: in normal mode the cursor never stands behind a line."""
    at = min(max(at, 0), len(text))
    start, end = line_start(text, at), line_end(text, at)
    return left_of(text, end) if at >= end > start else at


Kind = Callable[[str], int]


def small(character: str) -> int:
    """Sort characters into blanks (0), letters (1) and the rest (2)."""
    return 0 if character.isspace() else 1 if character.isalnum() or character == "_" else 2


def big(character: str) -> int:
    """Sort characters into blanks (0) and the rest (1)."""
    return 0 if character.isspace() else 1


def next_word(text: str, at: int, kind: Kind) -> int:
    """Give the start of the word after `at`; an empty line is a word."""
    here = kind(text[at]) if at < len(text) else 0
    while at < len(text) and here and kind(text[at]) == here:
        at += 1
    while at < len(text) and not kind(text[at]):
        at += 1
        if text[at - 1] == "\n" and text[at : at + 1] == "\n":
            break
    return at


def word_end(text: str, at: int, kind: Kind) -> int:
    """Give the last character of the word that ends after `at`."""
    at += 1
    while at < len(text) and not kind(text[at]):
        at += 1
    while at + 1 < len(text) and kind(text[at + 1]) == kind(text[at]):
        at += 1
    return min(at, max(0, len(text) - 1))


def end_of_words(text: str, at: int, count: int, kind: Kind) -> int:
    """Give the last character of the word at `at`, or of the `count`-th from there: what vim's `cw` takes."""
    while at + 1 < len(text) and kind(text[at + 1]) == kind(text[at]):
        at += 1
    for _ in range(count - 1):
        at = word_end(text, at, kind)
    return at


def previous_word(text: str, at: int, kind: Kind) -> int:
    """Give the start of the word that begins before `at`."""
    at -= 1
    while at > 0 and not kind(text[at]):
        at -= 1
    while at > 0 and kind(text[at - 1]) == kind(text[at]):
        at -= 1
    return max(at, 0)


def paragraph(text: str, at: int, step: int) -> int:
    """Give the empty line before (-1) or after (1) the paragraph of `at`, else the end of the text there."""
    lines = text.split("\n")
    row = text.count("\n", 0, at)
    while 0 <= row < len(lines) and not lines[row].strip():
        row += step
    while 0 <= row < len(lines) and lines[row].strip():
        row += step
    if row < 0:
        return 0
    return len(text) if row >= len(lines) else sum(len(line) + 1 for line in lines[:row])

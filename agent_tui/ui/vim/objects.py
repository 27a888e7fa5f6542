"""Vim text objects: the word, quote, bracket or paragraph around a place in a text."""

from __future__ import annotations

from agent_tui.ui.vim.words import Kind, big, line_end, line_start, small

_BRACKETS = {
    "(": "()",
    ")": "()",
    "b": "()",
    "[": "[]",
    "]": "[]",
    "{": "{}",
    "}": "{}",
    "B": "{}",
    "<": "<>",
    ">": "<>",
}


def text_object(text: str, at: int, which: str, *, around: bool) -> tuple[int, int] | None:
    """Give start and end of the object called `which`; `around` takes its blanks or marks too. None: there is none."""
    match which:
        case "w":
            return _word(text, at, small, around=around)
        case "W":
            return _word(text, at, big, around=around)
        case '"' | "'" | "`":
            return _quoted(text, at, which, around=around)
        case "p":
            return _paragraph(text, at, around=around)
        case _ if which in _BRACKETS:
            return _bracketed(text, at, *_BRACKETS[which], around=around)
        case _:
            return None


def _word(text: str, at: int, kind: Kind, *, around: bool) -> tuple[int, int] | None:
    first, last = line_start(text, at), line_end(text, at)
    if at >= last:
        return None
    start, end = _run(text, at, kind, first, last)
    if not around:
        return start, end
    if not kind(text[at]):  # blanks: with the word behind them
        return (start, _run(text, end, kind, first, last)[1]) if end < last else (start, end)
    if end < last and not kind(text[end]):
        return start, _run(text, end, kind, first, last)[1]
    if start > first and not kind(text[start - 1]):
        return _run(text, start - 1, kind, first, last)[0], end
    return start, end


def _run(text: str, at: int, kind: Kind, first: int, last: int) -> tuple[int, int]:
    here = kind(text[at])
    start = end = at
    while start > first and kind(text[start - 1]) == here:
        start -= 1
    while end < last and kind(text[end]) == here:
        end += 1
    return start, end


def _quoted(text: str, at: int, mark: str, *, around: bool) -> tuple[int, int] | None:
    first, last = line_start(text, at), line_end(text, at)
    marks = [i for i in range(first, last) if text[i] == mark and text[i - 1 : i] != "\\"]
    for opening, closing in zip(marks[::2], marks[1::2], strict=False):
        if closing >= at:
            return (opening, closing + 1) if around else (opening + 1, closing)
    return None


def _bracketed(text: str, at: int, opening: str, closing: str, *, around: bool) -> tuple[int, int] | None:
    start, depth = at, 0
    while start >= 0:
        if text[start : start + 1] == closing and start != at:
            depth += 1
        elif text[start : start + 1] == opening:
            if depth == 0:
                break
            depth -= 1
        start -= 1
    if start < 0:
        return None
    end, depth = start, 0
    while end < len(text):
        depth += 1 if text[end] == opening else -1 if text[end] == closing else 0
        if depth == 0:
            return (start, end + 1) if around else (start + 1, end)
        end += 1
    return None


def _paragraph(text: str, at: int, *, around: bool) -> tuple[int, int]:
    lines = text.split("\n")
    row = min(text.count("\n", 0, at), len(lines) - 1)
    is_blank = not lines[row].strip()
    top = bottom = row
    while top > 0 and (not lines[top - 1].strip()) == is_blank:
        top -= 1
    while bottom + 1 < len(lines) and (not lines[bottom + 1].strip()) == is_blank:
        bottom += 1
    if around:
        while bottom + 1 < len(lines) and (not lines[bottom + 1].strip()) != is_blank:
            bottom += 1
    start = sum(len(line) + 1 for line in lines[:top])
    return start, min(len(text), sum(len(line) + 1 for line in lines[: bottom + 1]))

"""Vim motions: where each leads from a place in a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent_tui.ui.vim.words import (
    Kind,
    big,
    first_non_blank,
    left_of,
    line_end,
    line_start,
    next_word,
    paragraph,
    previous_word,
    right_of,
    small,
    word_end,
)

Reach = Literal["exclusive", "inclusive", "lines"]
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENERS = {closing: opening for opening, closing in _PAIRS.items()}


@dataclass(frozen=True)
class Motion:
    """Where a motion leads. `reach` says what an operator takes: up to there, with it, or whole lines."""

    to: int
    reach: Reach = "exclusive"


@dataclass(frozen=True)
class Find:
    """A search for a character in the line, kept for `;` and `,`."""

    character: str
    forward: bool
    before: bool


def move(name: str, text: str, at: int, count: int | None) -> Motion | None:
    """Follow the motion called `name` from `at`; None when it is no motion or leads nowhere."""
    found = _MOTIONS.get(name)
    return found(text, at, count) if found is not None else None


def find(sought: Find, text: str, at: int, count: int, *, again: bool = False) -> Motion | None:
    """Go to the `count`-th place of a character in the line; `again` steps over the place one stands before."""
    start, end = line_start(text, at), line_end(text, at)
    for turn in range(count):
        skip = 2 if sought.before and again and turn == 0 else 1
        if sought.forward:
            at = text.find(sought.character, at + skip, end)
        else:
            at = text.rfind(sought.character, start, max(start, at - skip + 1))
        if at < 0:
            return None
    if sought.forward:
        return Motion(at - 1 if sought.before else at, "inclusive")
    return Motion(at + 1 if sought.before else at)


def _repeat(step: Callable[[str, int], int]) -> Callable[[str, int, int | None], Motion]:
    def go(text: str, at: int, count: int | None) -> Motion:
        for _ in range(count or 1):
            at = step(text, at)
        return Motion(at)

    return go


def _words(step: Callable[[str, int, Kind], int], kind: Kind, reach: Reach = "exclusive") -> _Go:
    def go(text: str, at: int, count: int | None) -> Motion:
        for _ in range(count or 1):
            at = step(text, at, kind)
        return Motion(at, reach)

    return go


def _vertical(step: int) -> _Go:
    def go(text: str, at: int, count: int | None) -> Motion | None:
        lines = text.split("\n")
        row = text.count("\n", 0, at)
        target = row + step * (count or 1)
        if not 0 <= target < len(lines):
            return None
        column = min(at - line_start(text, at), len(lines[target]))
        return Motion(sum(len(line) + 1 for line in lines[:target]) + column, "lines")

    return go


def _line(default: int) -> _Go:
    def go(text: str, at: int, count: int | None) -> Motion:
        lines = text.split("\n")
        row = (count or (default if default > 0 else len(lines))) - 1
        row = min(max(row, 0), len(lines) - 1)
        return Motion(first_non_blank(text, sum(len(line) + 1 for line in lines[:row])), "lines")

    return go


def _to_line_end(text: str, at: int, count: int | None) -> Motion:
    for _ in range((count or 1) - 1):
        at = min(len(text), line_end(text, at) + 1)
    end = line_end(text, at)
    return Motion(end, "exclusive")


def _matching(text: str, at: int, _count: int | None) -> Motion | None:
    end = line_end(text, at)
    while at < end and text[at] not in "()[]{}":
        at += 1
    if at >= end:
        return None
    bracket = text[at]
    step, other = (1, _PAIRS[bracket]) if bracket in _PAIRS else (-1, _OPENERS[bracket])
    depth = 0
    while 0 <= at < len(text):
        depth += 1 if text[at] == bracket else -1 if text[at] == other else 0
        if depth == 0:
            return Motion(at, "inclusive")
        at += step
    return None


_Go = Callable[[str, int, int | None], "Motion | None"]

_MOTIONS: dict[str, _Go] = {
    "left": _repeat(left_of),
    "right": _repeat(right_of),
    "up": _vertical(-1),
    "down": _vertical(1),
    "line_start": lambda text, at, _count: Motion(line_start(text, at)),
    "line_end": _to_line_end,
    "first_character": lambda text, at, _count: Motion(first_non_blank(text, at)),
    "word": _words(next_word, small),
    "big_word": _words(next_word, big),
    "word_end": _words(word_end, small, "inclusive"),
    "big_word_end": _words(word_end, big, "inclusive"),
    "word_back": _words(previous_word, small),
    "big_word_back": _words(previous_word, big),
    "first_line": _line(1),
    "last_line": _line(-1),
    "paragraph_back": _repeat(lambda text, at: paragraph(text, at, -1)),
    "paragraph": _repeat(lambda text, at: paragraph(text, at, 1)),
    "matching": _matching,
}

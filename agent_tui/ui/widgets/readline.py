"""What readline keys remember and compute: the kill ring, swapped characters and words, changed case."""

from __future__ import annotations

import re
from typing import Literal

_WORD = re.compile(r"\w+")
_KEPT = 30


class KillRing:
    """What was deleted by kill keys, newest last. Kills that follow each other are one entry."""

    def __init__(self) -> None:
        self._kills: list[str] = []
        self._at = -1
        self._goes_on = False

    def kill(self, text: str, *, side: Literal["left", "right"]) -> None:
        """Keep what was deleted to the left or right of the cursor."""
        if self._goes_on and self._kills:
            last = self._kills.pop()
            text = text + last if side == "left" else last + text
        self._kills = [*self._kills, text][-_KEPT:]
        self._at = len(self._kills) - 1
        self._goes_on = True

    def interrupt(self) -> None:
        """Another key came: the next kill begins an entry."""
        self._goes_on = False

    @property
    def current(self) -> str:
        """What yank inserts, "" when nothing was killed."""
        return self._kills[self._at] if self._kills else ""

    def turn(self) -> str:
        """Go to the entry before, around the end, and give it."""
        if self._kills:
            self._at = (self._at - 1) % len(self._kills)
        return self.current


def swapped_characters(line: str, column: int) -> tuple[int, int, str] | None:
    """Give start, end and new text for the two characters around `column`; at the end the two before it."""
    if len(line) < 2 or column == 0:
        return None
    at = min(column, len(line) - 1)
    return at - 1, at + 1, line[at] + line[at - 1]


def swapped_words(line: str, column: int) -> tuple[int, int, str] | None:
    """Give start, end and new text for the word at or before `column` and the one before that."""
    words = list(_WORD.finditer(line))
    second = next((i for i, word in enumerate(words) if word.end() >= column), len(words) - 1)
    if len(words) < 2:
        return None
    second = max(1, second)
    left, right = words[second - 1], words[second]
    between = line[left.end() : right.start()]
    return left.start(), right.end(), f"{right.group()}{between}{left.group()}"


def cased_word(
    line: str, column: int, how: Literal["upper", "lower", "capital"]
) -> tuple[int, int, str] | None:
    """Give start, end and new text for the rest of the word from `column` on."""
    found = _WORD.search(line, column)
    if found is None:
        return None
    word = found.group()
    new = {"upper": word.upper(), "lower": word.lower(), "capital": word[:1].upper() + word[1:].lower()}[how]
    return found.start(), found.end(), new

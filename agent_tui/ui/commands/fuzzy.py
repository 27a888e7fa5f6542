"""Ranks names against what was typed so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

_START = 12
_BOUNDARY = 8
_NEIGHBOUR = 5


@dataclass(frozen=True)
class Match(Generic[T]):
    """A hit: the item, its score (higher is better) and the matched positions in its text."""

    item: T
    score: float
    positions: tuple[int, ...]


def fuzzy(query: str, text: str) -> tuple[float, tuple[int, ...]] | None:
    """Score `query` as a subsequence of `text`, ignoring case; None when it is none.

    Runs of neighbours, starts of words and the start of the text score; length costs a little, so that of equal
    matches the shorter text comes first.
    """
    if not query:
        return 0.0, ()
    needle, hay = query.lower(), text.lower()
    if (start := hay.find(needle)) >= 0:
        bonus = _START if start == 0 else _BOUNDARY if not hay[start - 1].isalnum() else 0
        score = len(needle) * _NEIGHBOUR + bonus + _NEIGHBOUR - len(text) / 100
        return score, tuple(range(start, start + len(needle)))
    return _scattered(needle, hay)


def _scattered(needle: str, hay: str) -> tuple[float, tuple[int, ...]] | None:
    positions: list[int] = []
    score, at = 0.0, -1
    for character in needle:
        found = hay.find(character, at + 1)
        if found < 0:
            return None
        if found == 0:
            score += _START
        elif not hay[found - 1].isalnum():
            score += _BOUNDARY
        elif found == at + 1:
            score += _NEIGHBOUR
        positions.append(found)
        at = found
    return score - len(hay) / 100, tuple(positions)


def rank(query: str, items: Sequence[T], text: Callable[[T], str], *, limit: int = 200) -> list[Match[T]]:
    """Give the items that match, best first; with an empty query all of them in their own order."""
    matches = [Match(item, *scored) for item in items if (scored := fuzzy(query, text(item))) is not None]
    if query:
        matches.sort(key=lambda match: -match.score)
    return matches[:limit]

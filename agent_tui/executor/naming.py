"""Finds the tool a model meant when it misspelt the name."""

from collections.abc import Iterable

from agent_tui.protocol.near_names import did_you_mean

REPAIR_DISTANCE = 2
WELL_KNOWN = frozenset(
    {"read", "write", "edit", "patch", "bash", "glob", "grep", "list", "task", "skill", "question"}
)
"""Names that mean what they say: one that is missing here was left out on purpose (`task` is not a slip for `bash`)."""


def repaired(name: str, known: Iterable[str]) -> str | None:
    """Give the one known name that `name` was meant to be, or None.

    The same word in another case comes first, then names at most 2 edits away, if one of them is nearest. A name that
    would have to change in every character is never taken, and a well-known name is never a slip for another.
    """
    names = list(known)
    if name in names:
        return name
    same = [candidate for candidate in names if candidate.casefold() == name.casefold()]
    if len(same) == 1:
        return same[0]
    near = [] if name.casefold() in WELL_KNOWN else _nearest(name, names)
    return near[0] if len(near) == 1 else None


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """Say to the model that there is no such tool, and what it may have meant."""
    return f"No tool named {name!r}{did_you_mean(name, known, end='.')}"


def _nearest(name: str, names: list[str]) -> list[str]:
    """Give the names at the smallest distance, if that is at most `REPAIR_DISTANCE` and not the whole word."""
    best, found = REPAIR_DISTANCE, list[str]()
    for candidate in names:
        longest = max(len(name), len(candidate))
        distance = edit_distance(name.casefold(), candidate.casefold(), limit=best)
        if distance > best or distance >= longest:
            continue
        if distance < best:
            best, found = distance, []
        found.append(candidate)
    return found


def edit_distance(left: str, right: str, *, limit: int) -> int:
    """Count the insertions, deletions and replacements from one word to the other; `limit + 1` when more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        previous, row = row, [i]
        for j, b in enumerate(right, start=1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b)))
        if min(row) > limit:
            return limit + 1
    return row[-1]

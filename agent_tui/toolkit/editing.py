"""Replacing pieces of a text: each found once, all checked against each other, applied together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.similar import nearest_text
from agent_tui.toolkit.text import count
from agent_tui.toolkit.text_matching import Found, Match, find, line_of

NAMED_PLACES = 10


@dataclass(frozen=True)
class Replacement:
    """One edit as the model wrote it."""

    old: str
    new: str
    replace_all: bool = False


@dataclass(frozen=True)
class Edited:
    """The new text, how many places changed, their new positions, and what was not exact about finding them."""

    text: str
    places: tuple[tuple[int, int], ...]
    note: str = ""


def check(edits: Sequence[Replacement]) -> None:
    """Refuse edits that cannot mean anything, before the file is looked at. Raises ToolError."""
    for number, edit in enumerate(edits, start=1):
        which = _which(number, edits)
        if not edit.old:
            raise ToolError(f"{which}old_string must not be empty. To create or fill a file use write.")
        if edit.old == edit.new:
            raise ToolError(f"{which}nothing to change: old_string and new_string are the same.")


def apply_edits(
    text: str, edits: Sequence[Replacement], *, shown: str, search: Callable[[str, str, str], Found] = find
) -> Edited:
    """Find every edit in `text` as it is, then make all of them. Raises ToolError that names the edit at fault.

    `search` gives the places of (text, old, new).
    """
    placed: list[tuple[Match, int]] = []
    labels: list[str] = []
    for number, edit in enumerate(edits, start=1):
        found = search(text, edit.old, edit.new)
        _require(found, edit, text, which=_which(number, edits), shown=shown)
        placed += [(match, number) for match in found.matches]
        if found.label:
            labels.append(f"{_which(number, edits)}matched ignoring {found.label}")
    placed.sort(key=lambda pair: (pair[0].start, pair[0].end))
    _refuse_overlap(placed, text)
    new_text, places = _joined(text, [match for match, _number in placed])
    return Edited(new_text, places, note="; ".join(labels))


def _require(found: Found, edit: Replacement, text: str, *, which: str, shown: str) -> None:
    """Refuse an edit that was not found, or found more than once without replace_all."""
    if not found.matches:
        near = nearest_text(text, edit.old)
        hint = f"\nThe nearest text is:\n{near}" if near else "\nNothing in the file looks like it."
        raise ToolError(f"{which}old_string was not found in {shown} (0 matches).{hint}")
    if edit.replace_all:
        return
    starts = [match.start for match in found.matches]
    if len(starts) == 1 and not found.label:
        again = text.find(edit.old, starts[0] + 1)
        starts += [again] if again >= 0 else []
    if len(starts) > 1:
        lines = ", ".join(f"{line_of(text, start):,}" for start in starts[:NAMED_PLACES])
        more = ", ..." if len(starts) > NAMED_PLACES else ""
        how = f", ignoring {found.label}" if found.label else ""
        raise ToolError(
            f"{which}old_string was found {len(starts):,} times in {shown}{how} (lines {lines}{more}). "
            "Give more of the text around it, or set replace_all."
        )


def _refuse_overlap(placed: Sequence[tuple[Match, int]], text: str) -> None:
    for (first, number), (second, other) in pairwise(placed):
        if second.start < first.end:
            names = f"edits {min(number, other)} and {max(number, other)}"
            raise ToolError(
                f"{names} overlap at line {line_of(text, second.start):,}. Nothing was changed; join them into one."
            )


def _joined(text: str, matches: Sequence[Match]) -> tuple[str, tuple[tuple[int, int], ...]]:
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = length = 0
    for match in matches:
        parts += [text[at : match.start], match.new]
        length += match.start - at
        places.append((length, length + len(match.new)))
        length += len(match.new)
        at = match.end
    return "".join([*parts, text[at:]]), tuple(places)


def _which(number: int, edits: Sequence[Replacement]) -> str:
    return f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""


def replaced_count(edited: Edited) -> str:
    """Give "1 place" or "3 places"."""
    return count(len(edited.places), "place")

"""Puts the hunks of a patch where they belong in a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.indentation import Reindent, indent_of
from agent_tui.toolkit.lines import (
    body_of,
    dominant_end,
    end_of,
    neighbour_end,
    split_any,
    split_lines,
)
from agent_tui.toolkit.patch_model import FilePatch, Hunk
from agent_tui.toolkit.similar import nearest_text
from agent_tui.toolkit.text_matching import PLAIN

_PASSES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", lambda line: line),
    ("line ends and trailing blanks", lambda line: line.rstrip()),
    ("indentation", lambda line: line.strip()),
    ("the form of quotes, dashes and spaces", lambda line: line.translate(PLAIN).strip()),
)


@dataclass(frozen=True)
class _Placed:
    """A hunk at its place: `start` and `end` are 0-based lines of the file, end excluded.

    `found_by` is the pass that found it, `others` are further places where it fits.
    """

    hunk: Hunk
    number: int
    start: int
    end: int
    found_by: int = 0
    others: tuple[int, ...] = ()

    @property
    def is_exact(self) -> bool:
        return self.found_by == 0


@dataclass(frozen=True)
class Patched:
    """The new text and what was not exact about getting there."""

    text: str
    note: str = ""


def apply_hunks(text: str, patch: FilePatch, *, shown: str) -> Patched:
    """Apply all hunks of `patch` to `text`. Raises ToolError that names the hunk at fault.

    Lines end at newline only; in a text with lone CRs hunks that do not fit so are tried with lines that end there too.
    """
    lines = split_lines(text)
    try:
        placed = _place_all(lines, patch, shown=shown)
    except ToolError:
        lines = split_any(text)
        if len(lines) == len(split_lines(text)):
            raise
        placed = _place_all(lines, patch, shown=shown)
    return Patched(_rebuilt(text, lines, placed, patch), note="; ".join(_notes(placed)))


def _place_all(lines: Sequence[str], patch: FilePatch, *, shown: str) -> list[_Placed]:
    numbered = list(enumerate(patch.hunks, start=1))
    if all(hunk.old_start is not None for hunk in patch.hunks):
        numbered.sort(key=lambda pair: pair[1].old_index)
        _refuse_overlap(numbered, shown=shown)
    finder = _Finder(lines, shown=shown)
    return [finder.place(hunk, number) for number, hunk in numbered]


def _refuse_overlap(numbered: Sequence[tuple[int, Hunk]], *, shown: str) -> None:
    end, before = 0, 0
    for number, hunk in numbered:
        if hunk.old_index < end:
            raise ToolError(f"{shown}: hunks {before} and {number} overlap. Nothing was changed.")
        end, before = hunk.old_index + len(hunk.old_lines), number


class _Finder:
    """Finds hunks one after the other; each starts its search where the one before ended."""

    def __init__(self, lines: Sequence[str], *, shown: str) -> None:
        self._lines = list(lines)
        self._shown = shown
        self._keyed: dict[int, list[str]] = {0: self._lines}
        self._floor = 0
        self._drift = 0

    def place(self, hunk: Hunk, number: int) -> _Placed:
        """Find the place of `hunk`. Raises ToolError."""
        placed = self._placed(hunk, number)
        self._floor = placed.end
        if hunk.old_start is not None:
            self._drift = placed.start - hunk.old_index
        return placed

    def _placed(self, hunk: Hunk, number: int) -> _Placed:
        floor = self._after_anchors(hunk, number)
        old = hunk.old_lines
        if not old:
            return self._insertion(hunk, number, floor)
        for found_by in range(len(_PASSES)):
            starts = self._runs(old, floor, found_by)
            if starts:
                start = self._best(hunk, starts)
                is_told = hunk.old_start is not None or hunk.at_end
                others = () if is_told else tuple(other for other in starts if other != start)
                return _Placed(hunk, number, start, start + len(old), found_by, others)
        raise ToolError(self._not_found(hunk, number))

    def _runs(self, wanted: Sequence[str], floor: int, found_by: int) -> list[int]:
        """Give every start at or after `floor` where the `wanted` lines stand, by the rule of one pass."""
        key = _PASSES[found_by][1]
        if found_by not in self._keyed:
            self._keyed[found_by] = [key(line) for line in self._lines]
        return _runs(self._keyed[found_by], [key(line) for line in wanted], floor)

    def _best(self, hunk: Hunk, starts: Sequence[int]) -> int:
        """Choose the start nearest to what the header says; without one the first, or the last for the file's end."""
        if hunk.old_start is not None:
            expected = hunk.old_index + self._drift
            return min(starts, key=lambda start: abs(start - expected))
        return starts[-1] if hunk.at_end else starts[0]

    def _after_anchors(self, hunk: Hunk, number: int) -> int:
        """Go below the anchor lines, each found after the one before."""
        floor = self._floor
        for anchor in hunk.anchors:
            floor = self._after_anchor(anchor, number, floor)
        return floor

    def _after_anchor(self, anchor: str, number: int, floor: int) -> int:
        for found_by in range(1, len(_PASSES)):
            if starts := self._runs([anchor], floor, found_by):
                return starts[0] + 1
        raise ToolError(
            f"{self._shown}: hunk {number}: the line {anchor!r} after '@@' was not found. Nothing was changed."
        )

    def _insertion(self, hunk: Hunk, number: int, floor: int) -> _Placed:
        """Place a hunk that only adds lines: where its header says, below its anchor, else at the end."""
        if hunk.old_start is not None:
            start = hunk.old_index + self._drift
            if not floor <= start <= len(self._lines):
                raise ToolError(self._past_end(hunk, number))
        else:
            start = floor if hunk.anchors and not hunk.at_end else len(self._lines)
        return _Placed(hunk, number, start, start)

    def _not_found(self, hunk: Hunk, number: int) -> str:
        if hunk.old_index + len(hunk.old_lines) > len(self._lines) and hunk.old_start is not None:
            return self._past_end(hunk, number)
        near = nearest_text("".join(self._lines), "".join(hunk.old_lines))
        hint = f"\nThe nearest text is:\n{near}" if near else ""
        where = f" (line {hunk.old_start})" if hunk.old_start is not None else ""
        return (
            f"{self._shown}: hunk {number}{where} does not fit: its context and removed lines are not in the file. "
            f"Nothing was changed.{hint}"
        )

    def _past_end(self, hunk: Hunk, number: int) -> str:
        return (
            f"{self._shown}: hunk {number} (line {hunk.old_start}) goes past the end of the file, "
            f"which has {len(self._lines):,} lines. Nothing was changed."
        )


def _runs(lines: Sequence[str], wanted: Sequence[str], floor: int) -> list[int]:
    """Give every start at or after `floor` where the `wanted` lines stand."""
    starts: list[int] = []
    size = len(wanted)
    at = floor
    while True:
        try:
            at = lines.index(wanted[0], at)
        except ValueError:
            return starts
        if list(lines[at : at + size]) == list(wanted):
            starts.append(at)
        at += 1


def _notes(placed: Sequence[_Placed]) -> list[str]:
    """Say where a hunk went elsewhere than it said, or fits more than once."""
    notes: list[str] = []
    for place in placed:
        if not place.is_exact:
            notes.append(f"hunk {place.number} matched ignoring {_PASSES[place.found_by][0]}")
        if place.hunk.old_start is not None and place.start != place.hunk.old_index:
            notes.append(f"hunk {place.number} found at line {place.start + 1}, not {place.hunk.old_start}")
        if place.others:
            lines = ", ".join(str(start + 1) for start in place.others[:3])
            notes.append(f"hunk {place.number} also fits at line {lines}; line {place.start + 1} was taken")
    return notes


def _rebuilt(text: str, lines: Sequence[str], placed: Sequence[_Placed], patch: FilePatch) -> str:
    """Join the file's own lines with those that the hunks add."""
    default = dominant_end(text)
    result: list[str] = []
    at = 0
    for place in placed:
        result += lines[at : place.start]
        _replay(place, lines, result, patch, default)
        at = place.end
    touches_end = bool(placed) and at == len(lines)
    result += lines[at:]
    ends_open = bool(lines) and not end_of(lines[-1])
    _close_inner_lines(result, default)
    if touches_end and ends_open and patch.keeps_final_newline and not _is_trusted(placed[-1], patch):
        result[-1:] = [body_of(line) for line in result[-1:]]
    return "".join(result)


def _replay(place: _Placed, lines: Sequence[str], result: list[str], patch: FilePatch, default: str) -> None:
    """Walk over a hunk: context comes from the file, removed lines go, added ones are put in."""
    rule = _reindent(place, lines)
    trusted = _is_trusted(place, patch)
    at = place.start
    for line in place.hunk.lines:
        if line.sign == "+":
            body = body_of(line.text)
            body = rule.apply(indent_of(body)) + body.lstrip(" \t") if rule and body.strip() else body
            near = neighbour_end(result[-1:], lines[at : at + 1], default=default)
            result.append(line.text if trusted else body + (near if end_of(line.text) else ""))
        else:
            if line.sign == " ":
                result.append(lines[at])
            at += 1


def _reindent(place: _Placed, lines: Sequence[str]) -> Reindent | None:
    """Find how the indentation of the patch differs from the file's, where it does."""
    if place.found_by <= 1:
        return None
    remembered = [body_of(line) for line in place.hunk.old_lines]
    return Reindent.between(remembered, [body_of(line) for line in lines[place.start : place.end]])


def _is_trusted(place: _Placed, patch: FilePatch) -> bool:
    """Tell whether the line ends of the patch are those of the file: a program made it, or its old lines prove it."""
    if patch.is_exact and place.is_exact:
        return True
    if any(line.text.endswith("\r\n") for hunk in patch.hunks for line in hunk.lines):
        return place.is_exact
    return place.is_exact and bool(place.hunk.old_lines)


def _close_inner_lines(result: list[str], default: str) -> None:
    """Give an end to each line that is not the last one any more."""
    for row, line in enumerate(result[:-1]):
        if not end_of(line):
            result[row] = line + neighbour_end(result[:row], result[row + 1 :], default=default)

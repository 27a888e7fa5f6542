"""Sets of line numbers as sorted ranges."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_NAMED_GAPS = 5


@dataclass(frozen=True)
class LineRanges:
    """A set of 1-based line numbers; `spans` are (first, last), sorted, apart from each other."""

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> "LineRanges":
        """Join spans in any order; an empty one (last < first) is dropped."""
        joined: list[tuple[int, int]] = []
        for first, last in sorted(span for span in spans if span[0] <= span[1]):
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(joined[-1][1], last))
            else:
                joined.append((first, last))
        return cls(tuple(joined))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.spans)

    def union(self, other: "LineRanges") -> "LineRanges":
        """Give the lines of both."""
        return LineRanges.of((*self.spans, *other.spans))

    def within(self, first: int, last: int, *, shift: int) -> list[tuple[int, int]]:
        """Give the part between `first` and `last`, moved by `shift` lines."""
        cut = [(max(first, a) + shift, min(last, b) + shift) for a, b in self.spans]
        return [span for span in cut if span[0] <= span[1]]

    def missing(self, total_lines: int | None) -> str:
        """Name the lines from 1 to `total_lines` that are not here, "" when all are.

        None says that the end is not known: then lines after the last one are missing.
        """
        gaps: list[str] = []
        next_line = 1
        for first, last in self.spans:
            if first > next_line:
                gaps.append(_name(next_line, first - 1))
            next_line = last + 1
        if total_lines is None:
            gaps.append(f"lines from {next_line:,} on")
        elif next_line <= total_lines:
            gaps.append(_name(next_line, total_lines))
        more = f" and {len(gaps) - _NAMED_GAPS} more gaps" if len(gaps) > _NAMED_GAPS else ""
        return ", ".join(gaps[:_NAMED_GAPS]) + more


def _name(first: int, last: int) -> str:
    return f"line {first:,}" if first == last else f"lines {first:,}-{last:,}"

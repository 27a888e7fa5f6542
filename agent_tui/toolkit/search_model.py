"""What a content search is asked, what it finds, and how lines are chosen and cut; shared by both engines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

LINE_LIMIT_CHARS = 500
MARK = "…"

OutputMode = Literal["content", "files", "count"]


@dataclass(frozen=True)
class Query:
    """A search. `offset` and `limit` choose matched lines (content) or files (files, count); 0 has no limit.

    `path_globs` must one of match the path relative to the base, or its last component when the glob has no
    slash; those beginning with `!` must not. `name_globs` (of a file type) must one of match the last component.
    """

    pattern: str
    mode: OutputMode = "content"
    ignore_case: bool = False
    multiline: bool = False
    literal: bool = False
    before: int = 0
    after: int = 0
    limit: int = 100
    offset: int = 0
    path_globs: tuple[str, ...] = ()
    name_globs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Query":
        """Make a query from what `to_json` gave."""
        values = dict(fields)
        path_globs, name_globs = tuple(values.pop("path_globs")), tuple(values.pop("name_globs"))
        return cls(**values, path_globs=path_globs, name_globs=name_globs)


@dataclass(frozen=True)
class Line:
    """One line of a file, 1-based, without its end. `start` is where the first match begins, -1 for context."""

    number: int
    text: str
    start: int = -1
    end: int = -1

    @property
    def is_match(self) -> bool:
        """Whether the line holds a match."""
        return self.start >= 0

    def cut(self) -> "Line":
        """Give the line with at most 500 characters around its match, the rest marked."""
        if len(self.text) <= LINE_LIMIT_CHARS:
            return self
        first = max(0, min(self.start - LINE_LIMIT_CHARS // 4, len(self.text) - LINE_LIMIT_CHARS))
        last = first + LINE_LIMIT_CHARS
        text = self.text[first:last]
        head = MARK if first else ""
        shift = len(head) - first
        return Line(
            self.number,
            f"{head}{text}{MARK if last < len(self.text) else ''}",
            start=self.start + shift if self.is_match else -1,
            end=min(self.end, last) + shift if self.is_match else -1,
        )


@dataclass(frozen=True)
class FileHits:
    """What was found in one file; `count` are all its matched lines, `lines` those to show."""

    path: str
    count: int
    lines: tuple[Line, ...] = ()


@dataclass
class Found:
    """The answer: all files with a match in order, of which some with lines; `total` counts matched lines."""

    files: list[FileHits] = field(default_factory=list[FileHits])
    total: int = 0


class Window:
    """Hands out the places of an answer: skips `offset`, then gives at most `limit`."""

    def __init__(self, query: Query) -> None:
        self._skip = query.offset
        self._left = query.limit or (1 << 60)

    def take(self, places: int) -> range:
        """Ask for `places` and give the indices that are shown."""
        first = min(self._skip, places)
        self._skip -= first
        last = min(places, first + self._left)
        self._left -= last - first
        return range(first, last)


def with_context(lines: Iterable[Line], kept: Sequence[Line], query: Query) -> tuple[Line, ...]:
    """Give `kept` with those of `lines` that stand within the asked distance of one of them.

    A matched line that was not kept appears as context.
    """
    if not kept:
        return ()
    numbers = {line.number for line in kept}
    near: set[int] = set()
    for number in numbers:
        near.update(range(number - query.before, number + query.after + 1))
    chosen = (line for line in lines if line.number in near)
    return tuple((line if line.number in numbers else Line(line.number, line.text)).cut() for line in chosen)

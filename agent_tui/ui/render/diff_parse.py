"""Unified diffs to lines with numbers, hunks and the pairs whose words are compared."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.ui.render.code import split_lines
from agent_tui.ui.render.safe import clean

Kind = Literal["file", "hunk", "add", "del", "context", "note"]
Ranges = tuple[tuple[int, int], ...]
_HUNK = re.compile(r"@@+ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@+ ?(.*)")
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
LONGEST_COMPARED = 600
LEAST_ALIKE = 0.5


@dataclass(slots=True)
class DiffLine:
    """One line of a diff. Numbers are 1-based, 0 for none; `hunk` counts from 0, -1 outside; `text` has no sign.

    `mate` is the index of the line on the other side that this one replaces, -1 for none.
    """

    kind: Kind
    text: str
    old: int = 0
    new: int = 0
    hunk: int = -1
    mate: int = -1


@dataclass(slots=True)
class Hunk:
    """A hunk: index of its head among the lines, path of its file, lines it adds and removes."""

    line: int
    path: str
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class Diff:
    """A parsed diff. `files` are the paths in order; a file that is created or deleted has its one name."""

    lines: list[DiffLine] = field(default_factory=list[DiffLine])
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    files: list[str] = field(default_factory=list[str])


def parse_diff(text: str) -> Diff:
    """Parse a unified diff; any text gives some result, lines that fit nowhere become notes."""
    parser = _Parser()
    for line in split_lines(clean(text)):
        parser.take(line)
    _pair(parser.diff.lines)
    return parser.diff


class _Parser:
    def __init__(self) -> None:
        self.diff = Diff()
        self._old = self._new = 0
        self._old_left = self._new_left = 0
        self._before = ""

    def take(self, line: str) -> None:
        """Take the next line."""
        if (self._old_left > 0 or self._new_left > 0) and self._content(line):
            return
        found = _HUNK.match(line)
        if found:
            self._hunk(line, found)
        elif line.startswith("--- "):
            self._before = _path(line)
        elif line.startswith("+++ "):
            self._file(_path(line) or self._before)
        elif line.startswith(
            ("diff ", "index ", "new file", "deleted file", "similarity ", "old mode", "new mode")
        ):
            self._old_left = self._new_left = 0
        elif not (self.diff.hunks and self._content(line)):
            self._add("note", line)

    def _hunk(self, line: str, found: re.Match[str]) -> None:
        self._old, self._new = int(found[1]), int(found[3])
        self._old_left = int(found[2]) if found[2] is not None else 1
        self._new_left = int(found[4]) if found[4] is not None else 1
        path = self.diff.files[-1] if self.diff.files else ""
        self.diff.hunks.append(Hunk(len(self.diff.lines), path))
        self._add("hunk", line)

    def _file(self, path: str) -> None:
        self._old_left = self._new_left = 0
        self.diff.files.append(path)
        self.diff.lines.append(DiffLine("file", path))

    def _content(self, line: str) -> bool:
        sign, text = line[:1], line[1:]
        match sign:
            case "+":
                self._add("add", text, new=self._new)
                self.diff.hunks[-1].added += 1
                self._step(0, 1)
            case "-":
                self._add("del", text, old=self._old)
                self.diff.hunks[-1].removed += 1
                self._step(1, 0)
            case " " | "":
                self._add("context", text, old=self._old, new=self._new)
                self._step(1, 1)
            case "\\":
                self._add("note", line)
            case _:
                return False
        return True

    def _step(self, old: int, new: int) -> None:
        self._old += old
        self._old_left -= old
        self._new += new
        self._new_left -= new

    def _add(self, kind: Kind, text: str, *, old: int = 0, new: int = 0) -> None:
        self.diff.lines.append(DiffLine(kind, text, old, new, len(self.diff.hunks) - 1))


def _path(line: str) -> str:
    name = line[4:].split("\t", 1)[0].strip().strip('"')
    if name == "/dev/null":
        return ""
    return name[2:] if name.startswith(("a/", "b/")) else name


def _pair(lines: Sequence[DiffLine]) -> None:
    """Join each removed line with the added line that stands at the same place of the block below it."""
    for removed, added in _blocks(lines):
        if len(removed) == len(added):
            pairs = list(zip(removed, added, strict=True))
        else:
            pairs = list(zip(removed, added, strict=False))
        for old, new in pairs:
            lines[old].mate, lines[new].mate = new, old


def _blocks(lines: Sequence[DiffLine]) -> Iterator[tuple[list[int], list[int]]]:
    removed, added = list[int](), list[int]()
    for index, line in enumerate(lines):
        if line.kind == "del" and not added:
            removed.append(index)
        elif line.kind == "add":
            added.append(index)
        elif line.kind != "note":
            if removed and added:
                yield removed, added
            removed, added = ([index], []) if line.kind == "del" else ([], [])
    if removed and added:
        yield removed, added


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Give the character ranges that differ in each of two lines; none when they have too little in common."""
    if len(old) > LONGEST_COMPARED or len(new) > LONGEST_COMPARED:
        return (), ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < LEAST_ALIKE:
        return (), ()
    left, right = list[tuple[int, int]](), list[tuple[int, int]]()
    places = _offsets(before), _offsets(after)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            _join(left, places[0][a], places[0][b])
            _join(right, places[1][c], places[1][d])
    return tuple(left), tuple(right)


def _offsets(words: Sequence[str]) -> list[int]:
    offsets = [0]
    for word in words:
        offsets.append(offsets[-1] + len(word))
    return offsets


def _join(ranges: list[tuple[int, int]], start: int, end: int) -> None:
    if end <= start:
        return
    if ranges and ranges[-1][1] == start:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))

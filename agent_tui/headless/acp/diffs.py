"""Reads a unified diff as the protocol wants it: per hunk the file, the text before and the text after."""

import re
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_NO_NEWLINE = "\\ No newline"


@dataclass
class Hunk:
    """One change. `path` is as the diff names it; `line` is the 1-based first line after the change.

    `old` is None for a file that did not exist.
    """

    path: str
    line: int
    old: str | None
    new: str


@dataclass
class _Open:
    """A hunk whose lines still come: how many are missing on each side."""

    hunk: Hunk
    old_left: int
    new_left: int
    last: str = field(default="")


def read_hunks(text: str) -> list[Hunk]:
    """Give the hunks of a diff; one that is cut short (a display is) is left out.

    Gives none when a name is quoted: such a diff is shown as text.
    """
    found: list[Hunk] = []
    before = after = ""
    current: _Open | None = None
    for line in text.split("\n"):
        if current is not None and (current.old_left or current.new_left):
            _take(current, line)
            if not current.old_left and not current.new_left:
                found.append(current.hunk)
        elif line.startswith(_NO_NEWLINE) and current is not None:
            _strip_newline(current)
        elif line.startswith("--- "):
            before = line[4:].rstrip("\t")
        elif line.startswith("+++ "):
            after = line[4:].rstrip("\t")
        elif head := _HUNK.match(line):
            if before.startswith('"') or after.startswith('"'):
                return []
            current = _begin(head, before, after)
    return found


def _begin(head: re.Match[str], before: str, after: str) -> _Open:
    is_new = before == "/dev/null"
    name = before if after == "/dev/null" else after
    hunk = Hunk(_plain(name), max(1, int(head[3])), None if is_new else "", "")
    return _Open(hunk, int(head[2] or 1), int(head[4] or 1))


def _plain(name: str) -> str:
    """Take the `a/` or `b/` off."""
    return name[2:] if name[:2] in ("a/", "b/") else name


def _take(current: _Open, line: str) -> None:
    hunk, text = current.hunk, f"{line[1:]}\n"
    if line.startswith(_NO_NEWLINE):
        _strip_newline(current)
        return
    current.last = line[:1] or " "
    if current.last in ("-", " "):
        hunk.old = (hunk.old or "") + text
        current.old_left -= 1
    if current.last in ("+", " "):
        hunk.new += text
        current.new_left -= 1
    if current.last not in ("+", "-", " ") or current.old_left < 0 or current.new_left < 0:
        current.old_left, current.new_left = 1, 1_000_000_000  # no diff: never finished


def _strip_newline(current: _Open) -> None:
    """The line before this marker has no newline at its end."""
    hunk = current.hunk
    if current.last in ("-", " ") and hunk.old is not None:
        hunk.old = hunk.old.removesuffix("\n")
    if current.last in ("+", " "):
        hunk.new = hunk.new.removesuffix("\n")

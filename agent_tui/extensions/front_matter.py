"""Reads the head of a markdown file between two `---` lines, leniently, and says what is wrong with it."""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.protocol.rule_words import split_words

MAX_FILE_BYTES = 1 << 20
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*:(?:\s+(.*))?$")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:\s#.*)?""")
_ESCAPES = {"n": "\n", "t": "\t"}


@dataclass(frozen=True)
class Fault:
    """Something wrong with a file. `line` is 1-based, 0 for the file as a whole."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


class Unreadable(Exception):
    """A file has no head that can be used; `fault` says why."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(reason)
        self.fault = Fault(path, line, reason)


@dataclass(frozen=True)
class Document:
    """A file with its head. `lists` holds the values that were written as lists, `lines` where each key stands.

    `faults` are lines that are not quite right; everything else could be read.
    """

    path: Path
    values: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int]
    body: str
    faults: tuple[Fault, ...] = ()

    def items(self, key: str) -> tuple[str, ...]:
        """Give a value as a list: one that was written as a list, or words separated by commas."""
        words = self.lists.get(key) or tuple(self.values.get(key, "").split(","))
        return tuple(word.strip() for word in words if word.strip())

    def rules(self, key: str) -> tuple[str, ...]:
        """Give a value as rules such as `Bash(git add *)`: between commas or blanks outside brackets."""
        return tuple(split_words([self.values.get(key, "")]))


def read_document(path: Path, *, needs_head: bool = True) -> Document:
    """Read a file of at most 1 MiB; without `needs_head` it may be text alone. Raises Unreadable."""
    text = _text(path)
    if not text.strip():
        raise Unreadable(path, 0, "the file is empty")
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        if not needs_head:
            return Document(path, {}, {}, {}, text.strip("\n"))
        raise Unreadable(path, 1, "there is no front matter: the first line must be ---")
    end = next((i for i, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), 0)
    if not end:
        raise Unreadable(path, 1, "the front matter is never closed: a second --- is missing")
    head = _Head(path)
    for number, line in enumerate(lines[1:end], start=2):
        head.take(number, line.rstrip())
    return head.document("\n".join(lines[end + 1 :]).strip("\n"))


def _text(path: Path) -> str:
    """Give the text of a regular file. Raises Unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not hold us up
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable(path, 0, "is not a regular file")
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Unreadable(path, 0, f"cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise Unreadable(path, 0, f"is larger than {MAX_FILE_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Unreadable(path, line, "is not UTF-8") from error


@dataclass
class _Head:
    """Takes the lines of a head one by one. A value reaches from its key to the next line that is not indented."""

    path: Path
    values: dict[str, str] = field(default_factory=dict[str, str])
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lines: dict[str, int] = field(default_factory=dict[str, int])
    faults: list[Fault] = field(default_factory=list[Fault])
    _key: str = ""
    _style: str = ""
    _more: list[str] = field(default_factory=list[str])

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        plain = line.strip()
        belongs = line.startswith((" ", "\t")) or (plain.startswith("- ") and not self.values.get(self._key))
        if self._key and (belongs or (not plain and self._style)):
            self._more.append(line)
            return
        if not plain or plain.startswith("#"):
            return
        self._end()
        found = _KEY.match(plain)
        if found is None:
            self._fault(number, "expected `key: value`")
            return
        self._begin(number, found[1].lower(), (found[2] or "").strip())

    def document(self, body: str) -> Document:
        """Give what was read."""
        self._end()
        return Document(self.path, self.values, self.lists, self.lines, body, tuple(self.faults))

    def _begin(self, number: int, key: str, value: str) -> None:
        if key in self.lines:
            self._fault(number, f"the key {key!r} stands twice; the first counts")
            self._key = ""
            return
        self._key, self.lines[key], self._more = key, number, []
        self._style = value[:1] if re.fullmatch(r"[|>][+-]?", value) else ""
        if self._style:
            self.values[key] = ""
        elif value.startswith("[") and value.endswith("]"):
            self.lists[key] = tuple(
                _unquoted(item.strip()) for item in value[1:-1].split(",") if item.strip()
            )
            self.values[key] = ", ".join(self.lists[key])
        else:
            self.values[key] = self._scalar(number, value)

    def _scalar(self, number: int, value: str) -> str:
        if not value.startswith(('"', "'")):
            return re.split(r"\s#\s", value, maxsplit=1)[0].rstrip()
        if _QUOTED.fullmatch(value):
            return _unquoted(value)
        self._fault(number, "there is text after a quoted value; quote all of it")
        return value

    def _end(self) -> None:
        """Add the indented lines to the value they belong to."""
        key, more, style = self._key, self._more, self._style
        self._key, self._more, self._style = "", [], ""
        if not key or not more:
            return
        plain = [line.strip() for line in more]
        entries = [line for line in plain if line]
        if not style and not self.values[key] and entries and all(line.startswith("- ") for line in entries):
            self.lists[key] = tuple(_unquoted(line[2:].strip()) for line in entries)
            self.values[key] = ", ".join(self.lists[key])
        elif style == "|":
            self.values[key] = "\n".join(plain).strip()
        else:
            self.values[key] = " ".join(filter(None, [self.values[key], *entries]))

    def _fault(self, number: int, reason: str) -> None:
        self.faults.append(Fault(self.path, number, reason))


def _unquoted(value: str) -> str:
    found = _QUOTED.fullmatch(value)
    if found is None:
        return value
    quoted = found[1]
    if quoted.startswith("'"):
        return quoted[1:-1].replace("''", "'")
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted[1:-1])

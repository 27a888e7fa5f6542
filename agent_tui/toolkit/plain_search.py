"""The search without rg: the same files, the same lines, in the same order. Runs in a process of its own."""

import json
import mmap
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_tui.toolkit.file_filter import FileFilter
from agent_tui.toolkit.search_model import FileHits, Found, Line, Query, Window, with_context
from agent_tui.toolkit.walk import walk

MAP_FROM_BYTES = 4 << 20
HEAD_BYTES = 65_536
FILE_TIMEOUT_S = 3
_UNTRUSTED_PRECHECK = re.compile(r"\\[AZz]|\(\?[=!<]")
_PLAIN = re.compile(r"[\w \t/,:;=<>@#%&\"'`~-]+")
_POSIX_NAME = re.compile(r"\[:(\w+):\]")
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}

Finder = Callable[[bytes], tuple[list[Line], Sequence[str]]]


class TooSlow(Exception):
    """One file took longer than the limit."""


def answer(order: Mapping[str, Any]) -> int:
    """Do one order, write the answer, give the exit code."""
    base, workspace = Path(order["base"]), Path(order["workspace"])
    if order["op"] == "files":
        names = walk(base, workspace)
        sys.stdout.buffer.write(b"".join(os.fsencode(name) + b"\0" for name in names))
        return 0
    query = Query.from_json(order["query"])
    signal.signal(signal.SIGALRM, _too_slow)
    try:
        found = grep(base, workspace, query, single=order["single"])
    except re.error as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except TooSlow as error:
        sys.stderr.write(f"the expression takes longer than {FILE_TIMEOUT_S} s in {error}\n")
        return 3
    json.dump(to_json(found), sys.stdout)
    return 0


def _too_slow(_number: int, _frame: object) -> None:
    raise TooSlow


def to_json(found: Found) -> dict[str, Any]:
    """Give an answer as JSON can hold it."""
    return {
        "total": found.total,
        "files": [
            [hits.path, hits.count, [[line.number, line.text, line.start, line.end] for line in hits.lines]]
            for hits in found.files
        ],
    }


def from_json(fields: Mapping[str, Any]) -> Found:
    """Make an answer from what `to_json` gave."""
    files = [
        FileHits(path, count, tuple(Line(*line) for line in lines)) for path, count, lines in fields["files"]
    ]
    return Found(files=files, total=fields["total"])


def grep(base: Path, workspace: Path, query: Query, *, single: str = "") -> Found:
    """Search the files below `base`, or the one file `single` in it whatever its name.

    Raises re.error and TooSlow.
    """
    find = finder(query)
    chosen = FileFilter(query, base, workspace)
    names = [single] if single else sorted(name for name in walk(base, workspace) if chosen.takes(name))
    found, window = Found(), Window(query)
    for name in names:
        data = _text_of(base / name, is_asked_for=bool(single))
        if data is None:
            continue
        matched, text = _timed(find, data, name)
        if not matched:
            continue
        found.total += len(matched)
        places = window.take(len(matched) if query.mode == "content" else 1)
        kept = [matched[index] for index in places] if query.mode == "content" else []
        around = _lines_near(kept, matched, text, query)
        found.files.append(FileHits(name, len(matched), with_context(around, kept, query)))
    return found


def _timed(find: Finder, data: bytes, name: str) -> tuple[list[Line], Sequence[str]]:
    signal.setitimer(signal.ITIMER_REAL, FILE_TIMEOUT_S)
    try:
        return find(data)
    except TooSlow:
        raise TooSlow(name) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _text_of(path: Path, *, is_asked_for: bool) -> bytes | None:
    """Read a file, None when it is binary, unreadable or no regular file."""
    try:
        fd = os.open(
            path, os.O_RDONLY | os.O_NONBLOCK | (0 if is_asked_for else os.O_NOFOLLOW) | os.O_CLOEXEC
        )
    except OSError:
        return None
    try:
        head = os.read(fd, HEAD_BYTES)
        if len(head) < HEAD_BYTES:
            return _as_text(head)
        if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
            return None
        return _as_text(head + _rest(fd))
    except OSError:
        return None
    finally:
        os.close(fd)


def _rest(fd: int) -> bytes:
    """Read what follows; a huge file is mapped to see a NUL before it is read."""
    size = os.fstat(fd).st_size
    if size > MAP_FROM_BYTES:
        with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as mapped:
            if mapped.find(b"\0", HEAD_BYTES) >= 0:
                return b"\0"
            return mapped[HEAD_BYTES:]
    parts: list[bytes] = []
    while chunk := os.read(fd, 1 << 20):
        parts.append(chunk)
    return b"".join(parts)


def _as_text(data: bytes) -> bytes | None:
    """Give the bytes as UTF-8, None when they are no text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return None if b"\0" in data else data


def finder(query: Query) -> Finder:
    """Give the function that finds the matched lines of a file. Raises re.error."""
    source = re.escape(query.pattern) if query.literal else _translated(query.pattern)
    flags = re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0)
    if query.multiline:
        return _multiline_finder(re.compile(source, flags | re.DOTALL))
    expression = re.compile(source, flags)
    is_plain = query.literal or _PLAIN.fullmatch(query.pattern) is not None
    needle = query.pattern.encode("utf-8") if is_plain and not query.ignore_case else None
    # A whole-file search that misses what a line has would be wrong; these forms can.
    precheck = None if _UNTRUSTED_PRECHECK.search(source) else expression

    def find(data: bytes) -> tuple[list[Line], Sequence[str]]:
        if needle is not None and needle not in data:
            return [], ()
        text = _decoded(data)
        if precheck is not None and not precheck.search(text):
            return [], ()
        lines = _split(text)
        found = ((number, line, expression.search(line)) for number, line in enumerate(lines, 1))
        return [Line(number, line, m.start(), m.end()) for number, line, m in found if m], lines

    return find


def _translated(pattern: str) -> str:
    return _POSIX_NAME.sub(lambda found: _POSIX_CLASSES.get(found[1], found[0]), pattern)


def _multiline_finder(expression: re.Pattern[str]) -> Finder:
    def find(data: bytes) -> tuple[list[Line], Sequence[str]]:
        text = _decoded(data)
        lines = _split(text)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        hits: dict[int, Line] = {}
        row = 0
        for match in expression.finditer(text):
            while row + 1 < len(lines) and starts[row + 1] <= match.start():
                row += 1
            for number in _rows(row, match, starts, len(lines)):
                if number not in hits:
                    low = max(match.start() - starts[number], 0)
                    high = min(match.end() - starts[number], len(lines[number]))
                    hits[number] = Line(number + 1, lines[number], low, max(high, low))
        return [hits[number] for number in sorted(hits)], lines

    return find


def _rows(row: int, match: re.Match[str], starts: Sequence[int], count: int) -> Iterator[int]:
    """Give the 0-based lines that a match touches; an end just behind a newline touches no further line."""
    if row >= count:
        return
    yield row
    while row + 1 < count and starts[row + 1] < match.end():
        row += 1
        yield row


def _decoded(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n") if "\r" in text else text


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def _lines_near(
    kept: Sequence[Line], matched: Sequence[Line], text: Sequence[str], query: Query
) -> list[Line]:
    """Give the lines around `kept`, which has those of `matched` as they are."""
    if not kept:
        return []
    if not query.before and not query.after:
        return list(kept)
    first = max(kept[0].number - query.before, 1)
    last = min(kept[-1].number + query.after, len(text))
    known = {line.number: line for line in matched}
    return [known.get(number) or Line(number, text[number - 1]) for number in range(first, last + 1)]

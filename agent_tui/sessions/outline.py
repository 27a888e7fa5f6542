"""Where the entries of a session's file lie and how they hang together, so that records are read one by one.

A session of 10,000 blocks is some 14 MB of lines and three times that as dicts; whoever needs only what comes of them
holds neither.
"""

import io
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from sys import intern
from typing import BinaryIO

from agent_tui.sessions.frames import META_TYPES, TWICE, Damage, RawRecord, parsed, reason_of, text_of

_BUFFER_BYTES = 256 * 1024
_PREFIX_BYTES = len("xxxxxxxx ")
_META = frozenset(kind.encode() for kind in META_TYPES)
_HEAD = re.compile(
    rb'([0-9a-f]{8}) \{"type":"([^"\\]+)","id":"([^"\\]*)","at":[-+.0-9eE]+,"parent":"([^"\\]*)"[,}]'
)
"""How an entry begins as we write it. Other lines are parsed: the same is found, only later."""


Span = tuple[int, int, int]
"""Where a line lies: its offset, its bytes without the newline, and the checksum it begins with."""


class Outline:
    """The entries of a session, by index in the order of the file; bad and repeated lines are none.

    `facts` are the whole records of types header and rename, `begins_with_header` says that the first line is one.
    `size_bytes` is what was read, `file_bytes` the part of it that was in the file. `leaf` is the active entry's id.
    """

    def __init__(self, file: Path | None, unsaved: Sequence[bytes] = ()) -> None:
        """Look through the lines of `file` and those that are not in it yet. Raises OSError."""
        self.damage: list[Damage] = []
        self.facts: list[RawRecord] = []
        self.begins_with_header = False
        self.leaf = ""
        self.size_bytes = self.file_bytes = 0
        self.kinds: list[str] = []
        self._file = file
        self._unsaved = b"".join(unsaved)
        self._places: dict[str, int] = {}
        self._parents = array("q")
        self._offsets, self._sizes, self._checksums = array("Q"), array("Q"), array("L")
        looking = _Looking(self, self._places, self._parents)
        if file is not None:
            with file.open("rb", buffering=_BUFFER_BYTES) as lines:
                looking.through(lines)
        self.file_bytes = self.size_bytes
        looking.through(unsaved)
        looking.over()

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an entry nor a header."""
        return not self.kinds and not self.facts

    @property
    def state(self) -> str:
        """What names the entries that were found and the active one."""
        crc32 = zlib.crc32(self._sizes.tobytes(), zlib.crc32(self._checksums.tobytes()))
        return f"{self._file}:{self.size_bytes}:{self.leaf}:{crc32:x}"

    def add(self, kind: str, span: Span) -> None:
        """Take the next entry."""
        self.kinds.append(kind)
        offset, size_bytes, checksum = span
        self._offsets.append(offset)
        self._sizes.append(size_bytes)
        self._checksums.append(checksum)

    def path(self, leaf: str | None = None) -> list[int]:
        """Give the entries from the first to `leaf` (default: the active one), oldest first.

        It is the path of `frames.active_path`.
        """
        index = self._places.get(self.leaf if leaf is None else leaf, -1)
        path: list[int] = []
        while index >= 0:
            path.append(index)
            index = self._parents[index]
        path.reverse()
        return path

    def of_kinds(self, *kinds: str) -> list[int]:
        """Give the entries of these types, on whatever branch."""
        return [index for index, kind in enumerate(self.kinds) if kind in kinds]

    def span(self, index: int) -> Span:
        """Say where the line of an entry lies."""
        return self._offsets[index], self._sizes[index], self._checksums[index]

    def records(self, entries: Iterable[int]) -> Iterator[RawRecord]:
        """Give the records of these entries, {} for one that cannot be read any more.

        Nobody else holds them: they may be changed.
        """
        with ExitStack() as opened:
            file: BinaryIO = io.BytesIO()
            if self._file is not None:
                with suppress(OSError):  # gone since: its records are lost
                    file = opened.enter_context(self._file.open("rb", buffering=_BUFFER_BYTES))
            unsaved = io.BytesIO(self._unsaved)
            for index in entries:
                offset, size_bytes, checksum = self.span(index)
                if offset < self.file_bytes:
                    yield _read(file, offset, size_bytes, checksum)
                else:
                    yield _read(unsaved, offset - self.file_bytes, size_bytes, checksum)


def _read(file: BinaryIO, offset: int, size_bytes: int, checksum: int) -> RawRecord:
    try:
        file.seek(offset + _PREFIX_BYTES)
        body = file.read(size_bytes - _PREFIX_BYTES)
        if zlib.crc32(body) == checksum:
            return parsed(body) or {}
    except (OSError, ValueError):
        pass
    return {}


class _Looking:
    """Looks through lines in order and tells the outline what it finds."""

    def __init__(self, outline: Outline, places: dict[str, int], parents: "array[int]") -> None:
        self._outline = outline
        self._places = places
        self._parents = parents
        self._others: set[str] = set()
        self._waiting: list[tuple[int, str]] = []
        self._lines = 0

    def through(self, lines: Iterable[bytes]) -> None:
        """Look at the next lines. 13 MB with 20,000 records take 0.05 CPU s."""
        outline, match, crc32 = self._outline, _HEAD.match, zlib.crc32
        for line in lines:
            self._lines += 1
            size = len(line) - line.endswith(b"\n")
            body = line[_PREFIX_BYTES:size]
            checksum = crc32(body)
            span = outline.size_bytes, size, checksum
            outline.size_bytes += len(line)
            head = match(line) if body.endswith(b"}") else None
            try:
                if head is not None and int(head[1], 16) == checksum and head[2] not in _META:
                    self._take(head[2].decode(), head[3].decode(), head[4].decode(), span)
                elif line[8:9] == b" " and int(line[:8], 16) == checksum and (record := parsed(body)):
                    self._take_whole(record, span)
                elif size:
                    self._complain(reason_of(line[:size], torn=size == len(line)))
            except ValueError:
                self._complain(reason_of(line[:size], torn=size == len(line)))

    def over(self) -> None:
        """Find the entry above each whose parent had not come yet: it is lost, or stands behind its child."""
        for index, parent in self._waiting:
            self._parents[index] = -1 if parent in self._places else index - 1

    def _take_whole(self, record: RawRecord, span: Span) -> None:
        record_id, kind = text_of(record, "id"), text_of(record, "type")
        if kind not in META_TYPES:
            self._take(kind, record_id, text_of(record, "parent"), span)
        elif record_id in self._places or record_id in self._others:
            self._complain(TWICE)
        else:
            if kind in ("header", "rename"):
                self._outline.begins_with_header |= kind == "header" and not (self._places or self._others)
                self._outline.facts.append(record)
            elif kind == "leaf":
                self._outline.leaf = text_of(record, "target")
            self._others.add(record_id)

    def _take(self, kind: str, record_id: str, parent: str, span: Span) -> None:
        places = self._places
        if record_id in places or record_id in self._others:
            self._complain(TWICE)
            return
        index = len(places)
        above = places.get(parent, -1) if parent else -1
        if parent and above < 0:
            self._waiting.append((index, parent))
        places[record_id] = index
        self._parents.append(above)
        self._outline.add(intern(kind), span)
        self._outline.leaf = record_id

    def _complain(self, reason: str) -> None:
        self._outline.damage.append(Damage(self._lines, reason))

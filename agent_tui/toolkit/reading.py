"""Some lines of a text file, streamed: memory does not grow with the file, nor with the length of a line."""

import codecs
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_tui.toolkit.encoding import SAMPLE_BYTES, UTF8, Encoding, detect
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.rooted import opened_file
from agent_tui.toolkit.tracker import HASH_LIMIT_BYTES, Stamp

LINE_LIMIT_CHARS = 2_000
SCAN_LIMIT_BYTES = 2 * 1024 * 1024 * 1024
COUNT_LIMIT_BYTES = 256 * 1024 * 1024
"""Once all wanted lines are there, the rest is counted up to this many bytes of the file; longer would take seconds."""
_CHUNK_BYTES = 1024 * 1024
_LINE_KEEP_BYTES = LINE_LIMIT_CHARS * 4


@dataclass(frozen=True)
class Line:
    """One line without its end. `size_bytes` is that of the whole line, `is_cut` says that `text` is only its start."""

    text: str
    size_bytes: int
    is_cut: bool = False


@dataclass
class Window:
    """The lines from `first` (1-based) on. `total_lines` is None when the scan stopped before the end.

    `seen_lines` were counted until then.
    """

    first: int
    lines: list[Line] = field(default_factory=list[Line])
    total_lines: int | None = None
    seen_lines: int = 0
    ends_with_newline: bool = True
    stopped_by_size: bool = False


@dataclass(frozen=True)
class TextRead:
    """What was read of a text file, with the stamp of the file; None when it was written to meanwhile."""

    window: Window
    encoding: Encoding
    stamp: Stamp | None
    size_bytes: int


def read_window(target: Target, *, offset: int, limit: int, limit_chars: int) -> TextRead | None:
    """Read at most `limit` lines from line `offset` on and at most `limit_chars` characters; None when binary.

    Lines end at newline only; a CR before it is not part of the line. Raises OSError, ToolError.
    """
    read = _read_once(target, offset, limit, limit_chars)
    if read is not None and read.stamp is None:
        return _read_once(target, offset, limit, limit_chars)
    return read


def _read_once(target: Target, offset: int, limit: int, limit_chars: int) -> TextRead | None:
    with opened_file(target) as descriptor:
        before = os.fstat(descriptor)
        encoding = _detected(descriptor, before.st_size)
        if encoding is None:
            return None
        hashing = hashlib.sha256() if before.st_size <= HASH_LIMIT_BYTES else None
        collector = _Collector(offset, limit, limit_chars, encoding)
        for chunk in _chunks(descriptor):
            if hashing is not None:
                hashing.update(chunk)
            if not collector.feed(chunk):
                break
        after = os.fstat(descriptor)
    stamp = Stamp.of(before, hashing.hexdigest() if hashing else "")
    is_steady = Stamp.of(after).identity == stamp.identity
    return TextRead(collector.finish(), encoding, stamp if is_steady else None, before.st_size)


def read_head(target: Target, size: int) -> tuple[bytes, os.stat_result]:
    """Give the first `size` bytes and the status of a regular file. Raises OSError, ToolError."""
    with opened_file(target) as descriptor:
        return os.pread(descriptor, size, 0), os.fstat(descriptor)


def _detected(descriptor: int, size: int) -> Encoding | None:
    """Find the encoding by the whole of a small file, by the head of a large one."""
    wanted = size if size <= HASH_LIMIT_BYTES else SAMPLE_BYTES
    head = os.pread(descriptor, max(wanted, SAMPLE_BYTES), 0)
    return detect(head, is_part=len(head) < size)


def _chunks(descriptor: int) -> Iterator[bytes]:
    """Give the content in pieces."""
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        yield chunk


class _Collector:
    """Takes bytes, counts lines, keeps the wanted ones and of each no more than can be shown."""

    def __init__(self, offset: int, limit: int, limit_chars: int, encoding: Encoding) -> None:
        self._window = Window(first=offset)
        self._limit, self._room_chars = limit, limit_chars
        self._encoding = encoding if encoding.ascii_compatible else UTF8
        self._wide = (
            None if encoding.ascii_compatible else codecs.getincrementaldecoder(encoding.codec)("replace")
        )
        self._skip_bytes = len(encoding.bom)
        self._ended_lines = 0
        self._partial = bytearray()
        self._partial_bytes = 0
        self._fed_bytes = 0
        self._stopped = False

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes; False once nothing more is wanted."""
        self._fed_bytes += len(chunk)
        if self._skip_bytes:
            chunk, self._skip_bytes = chunk[self._skip_bytes :], 0
        if self._wide is not None:
            chunk = self._wide.decode(chunk).encode("utf-8", "surrogatepass")
        at = 0
        while at < len(chunk) and self._wants_lines:
            at = self._take(chunk, at)
        rest = chunk[at:] if at else chunk
        if rest:
            self._count(rest)
        self._stopped = self._fed_bytes >= (SCAN_LIMIT_BYTES if self._wants_lines else COUNT_LIMIT_BYTES)
        return not self._stopped

    def finish(self) -> Window:
        """Close the last line and give what was kept."""
        if self._partial_bytes:
            self._window.ends_with_newline = False
            if self._is_wanted:
                self._keep()
            self._ended_lines += 1
        self._window.seen_lines = self._ended_lines
        if not self._stopped:
            self._window.total_lines = self._ended_lines
        return self._window

    @property
    def _wants_lines(self) -> bool:
        return len(self._window.lines) < self._limit and not self._window.stopped_by_size

    @property
    def _is_wanted(self) -> bool:
        return self._wants_lines and self._ended_lines + 1 >= self._window.first

    def _take(self, chunk: bytes, at: int) -> int:
        """Take one line, or skip to the first wanted one; give the position after it."""
        if self._ended_lines + 1 < self._window.first:
            return self._skip(chunk, at)
        newline = chunk.find(b"\n", at)
        end = len(chunk) if newline < 0 else newline
        self._extend(chunk, at, end)
        if newline < 0:
            return end
        if self._is_wanted:
            self._keep()
        self._end_line()
        return newline + 1

    def _skip(self, chunk: bytes, at: int) -> int:
        """Skip lines before the first wanted one, many at a time."""
        missing = self._window.first - 1 - self._ended_lines
        there = chunk.count(b"\n", at)
        if there < missing:
            self._ended_lines += there
            self._partial_bytes = len(chunk) - (chunk.rfind(b"\n", at) + 1) if there else len(chunk)
            return len(chunk)
        for _line in range(missing):
            at = chunk.index(b"\n", at) + 1
        self._ended_lines += missing
        self._reset()
        return at

    def _count(self, rest: bytes) -> None:
        """Count lines that nobody wants to see."""
        newlines = rest.count(b"\n")
        self._ended_lines += newlines
        after = len(rest) - rest.rfind(b"\n") - 1
        self._partial_bytes = after if newlines else self._partial_bytes + len(rest)
        self._partial.clear()

    def _extend(self, chunk: bytes, at: int, end: int) -> None:
        self._partial_bytes += end - at
        room = _LINE_KEEP_BYTES - len(self._partial)
        if room > 0:
            self._partial += chunk[at : min(end, at + room)]

    def _keep(self) -> None:
        """Keep the line that was just completed, unless it does not fit any more."""
        raw = bytes(self._partial)
        if self._partial_bytes == len(raw):
            raw = raw.removesuffix(b"\r")
        text = raw.decode(self._encoding.codec, "replace").replace("\0", "\ufffd")
        is_cut = len(text) > LINE_LIMIT_CHARS or self._partial_bytes > len(self._partial)
        text = text[:LINE_LIMIT_CHARS]
        if len(text) > self._room_chars:
            self._window.stopped_by_size = True
            return
        self._room_chars -= len(text) + 1
        self._window.lines.append(Line(text, self._partial_bytes, is_cut))

    def _end_line(self) -> None:
        self._ended_lines += 1
        self._reset()

    def _reset(self) -> None:
        self._partial.clear()
        self._partial_bytes = 0

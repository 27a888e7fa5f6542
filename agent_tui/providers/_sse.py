"""Splits the bytes of an event stream into events, however the network cut them."""

from collections.abc import AsyncIterator
from typing import cast

import jiter

from agent_tui.protocol.data import JsonObject, without_half_pairs

Event = tuple[bytes, bytes]
"""The event's name (b"" when none was given) and its data, lines joined by newline."""

_BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 64 * 1024 * 1024
_BLANK_BYTES = 4096
PER_LINE_BYTES = 64
"""What Python needs to hold a line besides its bytes, so that millions of short ones count as well."""


class TooLarge(ValueError):
    """A server sends more than any reply holds."""


class EventSplitter:
    """Feeds on chunks and gives the events that are whole.

    Lines may end in LF, CRLF or CR; comments and unknown fields are dropped. Bytes are not decoded, so a chunk
    may end inside a character. Raises TooLarge when one event grows beyond 64 MiB.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._parts: list[bytes] = []  # chunks in which no line ends; joined once, however many they are
        self._held_bytes = 0
        self._name = b""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._at_start = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; give the events they completed."""
        self._held_bytes += len(chunk)
        if self._held_bytes > MAX_EVENT_BYTES:
            raise TooLarge("one event of the stream is larger than 64 MiB")
        if not (self._at_start or b"\n" in chunk or b"\r" in chunk or self._rest.endswith(b"\r")):
            self._parts.append(chunk)
            return []
        buffer = b"".join([self._rest, *self._parts, chunk])
        self._parts.clear()
        if self._at_start:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._rest = buffer
                return []
            buffer = buffer.removeprefix(_BOM)
            self._at_start = False
        held = b""
        if b"\r" in buffer:
            if buffer.endswith(b"\r"):  # its line feed may be the first byte of the next chunk
                buffer, held = buffer[:-1], b"\r"
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = buffer.split(b"\n")
        self._rest = rest + held
        events = self._take(lines)
        self._held_bytes = len(self._rest) + self._data_bytes
        return events

    def finish(self) -> list[Event]:
        """Give an event that the end of the stream left without its blank line."""
        self._rest = b"".join([self._rest, *self._parts])
        return self._take([*self._rest.rstrip(b"\r").split(b"\n"), b""])

    def _take(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if line[:5] == b"data:":
                self._data_bytes += len(line) + PER_LINE_BYTES
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if self._data:
                    events.append((self._name, b"\n".join(self._data)))
                    self._data = []
                self._data_bytes = 0
                self._name = b""
            elif line[:6] == b"event:":
                self._name = line[6:].strip()
        return events


def parse_object(data: bytes) -> JsonObject:
    """Parse the data of one event. Raises ValueError when it is no JSON object."""
    if b"\\ud" in data or b"\\uD" in data:  # some servers cut an emoji in two
        data = without_half_pairs(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    try:
        parsed: object = jiter.from_json(data)
    except ValueError:
        whole = data.decode("utf-8", "replace").encode()  # and some any other character
        if whole == data:
            raise
        parsed = jiter.from_json(whole)
    if not isinstance(parsed, dict):
        raise ValueError("the event's data is no JSON object")
    return cast(JsonObject, parsed)


async def peek(chunks: AsyncIterator[bytes]) -> tuple[bytes, bytes]:
    """Read until the first byte that is no white space; give that byte and all bytes read so far.

    The byte tells an event stream from a JSON body (`{`) and from a web page (`<`); b"" when nothing came.
    """
    read = b""
    async for chunk in chunks:
        read += chunk
        start = read.removeprefix(_BOM).lstrip()
        if start and not (len(read) < len(_BOM) and _BOM.startswith(read)):
            return start[:1], read
        if len(read) > _BLANK_BYTES and not start:
            read = b" "  # keep-alives before the first event; a body of blanks must not fill the memory
    return b"", read

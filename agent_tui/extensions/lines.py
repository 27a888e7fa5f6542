"""Splits what a program writes into lines, none longer than is kept."""

from collections.abc import Iterator

MAX_LINE_BYTES = 16 << 20
KEPT_OF_LONG_BYTES = 1 << 20


class Lines:
    """Collects chunks. Of a line of more than 16 MiB the first 1 MiB stays, so no answer fills the memory."""

    def __init__(self, *, max_bytes: int = MAX_LINE_BYTES, kept_bytes: int = KEPT_OF_LONG_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept_bytes = kept_bytes
        self._held = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, int]]:
        """Take a chunk and give (line, size in bytes) of each line that is finished; a cut line is shorter than that."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(chunk[start:end])
            yield bytes(self._held), self._size
            self._held.clear()
            self._size = 0
            start = end + 1
        self._hold(chunk[start:])

    @property
    def pending_bytes(self) -> int:
        """How much of an unfinished line there is."""
        return self._size

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._max_bytes:
            self._held += part
        elif len(self._held) > self._kept_bytes:
            del self._held[self._kept_bytes :]

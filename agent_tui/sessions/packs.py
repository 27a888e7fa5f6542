"""Many small contents in few files: what a first look at a large project would else write one by one."""

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_tui.protocol.private_file import write_private
from agent_tui.sessions.blobs import Blobs

PACKS = "packs"
_SMALL_BYTES = 64 * 1024
_MIN_COUNT = 32
_FULL_BYTES = 32 * 1024 * 1024
_LINE = re.compile(rb"([0-9a-f]{64}) (\d+) (\d+)")


@dataclass(frozen=True)
class Pack:
    """A file of contents with the file that lists them: name, offset and length a line."""

    data: Path
    index: Path

    def places(self) -> dict[str, tuple[int, int]]:
        """Give offset and length of each content by name; {} when the list cannot be read."""
        try:
            text = self.index.read_bytes()
        except OSError:
            return {}
        return {name.decode(): (int(start), int(size)) for name, start, size in _LINE.findall(text)}


def packs_in(folder: Path, key: str = "*") -> Iterator[Pack]:
    """List the packs below the folder of blobs, of one workspace or of all."""
    for index in sorted(folder.glob(f"{PACKS}/{key}/*.idx")):
        yield Pack(index.with_suffix(".pack"), index)


class PackedBlobs:
    """Contents by their SHA-256, as `Blobs` keeps them, but small new ones wait for `flush` and then share a file.

    `key` names the workspace whose packs these are. Files are 0600 in 0700 folders.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._loose = Blobs(folder)
        self._folder = folder
        self._key = key
        self._packs: dict[Path, Pack] = {}
        self._places: dict[str, tuple[Pack, int, int]] = {}
        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0

    def put(self, text: str) -> str:
        """Store `text` in a file of its own and give its name. Raises OSError."""
        return self._loose.put(text)

    def get(self, name: str) -> str | None:
        """Give the text that `put` stored, or None when it is missing or damaged."""
        return self._loose.get(name)

    def put_bytes(self, data: bytes) -> str:
        """Store `data`, at the latest with the next `flush`, and give its name. Raises OSError."""
        if len(data) > _SMALL_BYTES:
            return self._loose.put_bytes(data)
        name = hashlib.sha256(data).hexdigest()
        if not self._packs:
            self._load()
        if name not in self._places and name not in self._waiting and not self._loose.path(name).exists():
            self._waiting[name] = data
            self._waiting_bytes += len(data)
            if self._waiting_bytes > _FULL_BYTES:
                self.flush()
        return name

    def get_bytes(self, name: str) -> bytes | None:
        """Give the bytes stored under `name`, or None when they are missing or not what the name says."""
        waiting = self._waiting.get(name)
        if waiting is not None:
            return waiting
        if name not in self._places:
            self._load()
        place = self._places.get(name)
        data = _read(*place) if place else None
        if data is not None and hashlib.sha256(data).hexdigest() == name:
            return data
        return self._loose.get_bytes(name)

    def flush(self) -> None:
        """Write what waits. Raises OSError; then it waits on."""
        if len(self._waiting) >= _MIN_COUNT:
            self._write_pack()
        for data in self._waiting.values():
            self._loose.put_bytes(data)
        self._waiting, self._waiting_bytes = {}, 0

    def _load(self) -> None:
        """Learn of packs that are new; those that are used count as young, so that no clean-up takes them."""
        now = time.time()
        for pack in packs_in(self._folder, self._key):
            if pack.index not in self._packs:
                self._packs[pack.index] = pack
                for name, (start, size) in pack.places().items():
                    self._places[name] = (pack, start, size)
                os.utime(pack.index, (now, now))

    def _write_pack(self) -> None:
        folder = self._folder / PACKS / self._key
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stem = secrets.token_hex(8)
        pack = Pack(folder / f"{stem}.pack", folder / f"{stem}.idx")
        lines: list[bytes] = []
        start = 0
        for name, data in self._waiting.items():
            lines.append(b"%s %d %d\n" % (name.encode(), start, len(data)))
            start += len(data)
        try:
            write_private(pack.data, b"".join(self._waiting.values()), waits=False)
            write_private(pack.index, b"".join(lines), waits=False)
        except OSError:
            pack.data.unlink(missing_ok=True)
            raise
        self._packs[pack.index] = pack
        for name, (offset, size) in pack.places().items():
            self._places[name] = (pack, offset, size)
        self._waiting, self._waiting_bytes = {}, 0


def _read(pack: Pack, start: int, size: int) -> bytes | None:
    try:
        with pack.data.open("rb") as file:
            file.seek(start)
            return file.read(size)
    except OSError:
        return None

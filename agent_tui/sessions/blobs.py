"""Large payloads beside the session files, stored once by their hash."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from agent_tui.protocol.private_file import write_private

BLOB_CHARS = 64 * 1024
_NAME = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """A folder of files named by the SHA-256 of their content; directories 0700, files 0600."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, text: str) -> str:
        """Store `text` and give its name. Raises OSError."""
        return self.put_bytes(text.encode("utf-8", "replace"))

    def put_bytes(self, data: bytes) -> str:
        """Store `data` and give its name. Raises OSError."""
        name = hashlib.sha256(data).hexdigest()
        path = self.path(name)
        if path.exists():
            return name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, data, waits=False)
        return name

    def get(self, name: str) -> str | None:
        """Give the text stored under `name`, or None when it is missing or not what its name says."""
        data = self.get_bytes(name)
        return None if data is None else data.decode("utf-8", "replace")

    def get_bytes(self, name: str) -> bytes | None:
        """Give the bytes stored under `name`, or None when they are missing or not what the name says."""
        if not _NAME.fullmatch(name):
            return None
        try:
            data = self.path(name).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == name else None

    def path(self, name: str) -> Path:
        """Give where `name` is stored."""
        return self._folder / name[:2] / name

    def names(self) -> Iterator[str]:
        """List what is stored."""
        for path in sorted(self._folder.glob("??/*")):
            if _NAME.fullmatch(path.name):
                yield path.name

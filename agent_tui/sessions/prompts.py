"""Prompts of earlier sessions: one JSON string a line, mode 0600, newest last."""

import json
import os
from collections.abc import Callable
from pathlib import Path

MAX_KEPT = 1000
MAX_READ_BYTES = 2_000_000


class HistoryFile:
    """The prompt history of a user. `redact` takes secrets out before anything is written."""

    def __init__(self, path: Path, *, redact: Callable[[str], str]) -> None:
        self._path = path
        self._redact = redact

    def read(self) -> list[str]:
        """Give the last prompts, oldest first; a file that cannot be read gives none."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(0, os.SEEK_END)
                stream.seek(max(0, stream.tell() - MAX_READ_BYTES))
                lines = stream.read().decode("utf-8", errors="replace").splitlines()
        except OSError:
            return []
        prompts = [text for line in lines if (text := _decoded(line))]
        return prompts[-MAX_KEPT:]

    def append(self, text: str) -> None:
        """Add a prompt; a full disk or a read-only folder loses the history, never the prompt."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            os.write(fd, (json.dumps(self._redact(text)) + "\n").encode())
        except OSError:
            return
        finally:
            os.close(fd)


def _decoded(line: str) -> str:
    try:
        value: object = json.loads(line)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""

"""Prompts of earlier sessions: one JSON object a line with text and project, mode 0600, newest last."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

from agent_tui.protocol.json_text import parse_json

MAX_KEPT = 1000
MAX_READ_BYTES = 2_000_000


class HistoryFile:
    """The prompt history of a user. `redact` takes secrets out before anything is written; `project` is where we are."""

    def __init__(self, path: Path, *, redact: Callable[[str], str], project: str = "") -> None:
        self._path = path
        self._redact = redact
        self._project = project

    def read(self, *, here: bool = False) -> list[str]:
        """Give the last prompts, oldest first, `here` only those of this project; an unreadable file gives none."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(0, os.SEEK_END)
                stream.seek(max(0, stream.tell() - MAX_READ_BYTES))
                lines = stream.read().decode("utf-8", errors="replace").splitlines()
        except OSError:
            return []
        decoded = [_decoded(line) for line in lines]
        prompts = [text for text, project in decoded if text and (not here or project == self._project)]
        return prompts[-MAX_KEPT:]

    def append(self, text: str) -> None:
        """Add a prompt; a full disk or a read-only folder loses the history, never the prompt."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            line = json.dumps({"text": self._redact(text), "project": self._project})
            os.write(fd, f"{line}\n".encode())
        except OSError:
            return
        finally:
            os.close(fd)


def _decoded(line: str) -> tuple[str, str]:
    """Give text and project; a line that is a mere text is of a version that knew no projects."""
    try:
        value: object = parse_json(line)
    except ValueError:
        return "", ""
    if isinstance(value, str):
        return value, ""
    if not isinstance(value, dict):
        return "", ""
    fields = cast("dict[object, object]", value)
    text, project = fields.get("text"), fields.get("project")
    return (text if isinstance(text, str) else ""), (project if isinstance(project, str) else "")

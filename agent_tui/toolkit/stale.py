"""Temporary files on their way to a name, noted so that a killed program's rest is found and removed."""

import os
import re
import secrets
import threading
from pathlib import Path

NOTE_NAME = "pending-writes"
_TEMP = re.compile(r"\..*\.[0-9a-f]{16}\.tmp", re.DOTALL)


class PendingTemps:
    """Notes in `folder`, the session's own, which temporary files exist. An entry is on disk before its file is.

    kill -9 loses no entry: what was written to a file stays in the system's cache. Only entries of a program that
    is gone are swept.
    """

    def __init__(self, folder: Path) -> None:
        self._note = folder / f"{NOTE_NAME}-{secrets.token_hex(8)}-{os.getpid()}"
        self._open: set[Path] = set()
        self._lock = threading.Lock()

    def add(self, temp: Path) -> None:
        """Note a file that is about to be made."""
        with self._lock:
            self._open.add(temp)
            self._note.parent.mkdir(parents=True, exist_ok=True)
            with self._note.open("ab") as note:
                note.write(os.fsencode(temp) + b"\0")

    def done(self, temp: Path) -> None:
        """Note that the file is gone; with the last one the note goes too."""
        with self._lock:
            self._open.discard(temp)
            if not self._open:
                self._note.unlink(missing_ok=True)


def sweep(folder: Path) -> list[Path]:
    """Remove the temporary files that programs which are gone left behind, and give them.

    Notes are looked for in `folder` and in its direct subfolders. For use at start.
    """
    removed: list[Path] = []
    for note in (*folder.glob(f"{NOTE_NAME}-*"), *folder.glob(f"*/{NOTE_NAME}-*")):
        if _is_alive(note.name.rpartition("-")[2]):
            continue
        for entry in note.read_bytes().split(b"\0"):
            temp = Path(os.fsdecode(entry))
            if _TEMP.fullmatch(temp.name) and temp.is_file() and not temp.is_symlink():
                temp.unlink()
                removed.append(temp)
        note.unlink()
    return removed


def _is_alive(pid: str) -> bool:
    """Tell whether a process has this number; one that is not ours counts as alive."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True

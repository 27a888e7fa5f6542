"""Temporary files on their way to a name, noted so that a killed program's rest is found and removed."""

import logging
import os
import re
import secrets
import threading
from pathlib import Path

_LOG = logging.getLogger(__name__)

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

    Notes are looked for in `folder` and in its direct subfolders. For use at start: what cannot be read or removed
    is left, and its note with it.
    """
    removed: list[Path] = []
    for note in _notes(folder):
        if _is_alive(note.name.rpartition("-")[2]):
            continue
        try:
            removed += _sweep_note(note)
        except OSError as error:  # another start sweeps it too, or nothing may be removed there
            _LOG.debug("%s is left: %s", note, error)
    return removed


def _sweep_note(note: Path) -> list[Path]:
    """Remove what one note names and, when nothing of it is left, the note. Raises OSError."""
    removed: list[Path] = []
    is_swept = True
    for entry in note.read_bytes().split(b"\0"):
        temp = Path(os.fsdecode(entry))
        try:
            if _TEMP.fullmatch(temp.name) and temp.is_file() and not temp.is_symlink():
                temp.unlink()
                removed.append(temp)
        except FileNotFoundError:
            continue
        except OSError as error:
            _LOG.debug("%s is left: %s", temp, error)
            is_swept = False
    if is_swept:
        note.unlink()
    return removed


def _notes(folder: Path) -> list[Path]:
    try:
        return [*folder.glob(f"{NOTE_NAME}-*"), *folder.glob(f"*/{NOTE_NAME}-*")]
    except OSError as error:
        _LOG.debug("%s is not swept: %s", folder, error)
        return []


def _is_alive(pid: str) -> bool:
    """Tell whether a process has this number; one that is not ours counts as alive."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True

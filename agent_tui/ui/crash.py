"""Writes what went wrong to a log that only its owner can read."""

from __future__ import annotations

import errno
import os
import time
import traceback
from pathlib import Path
from typing import cast

_KEEP_BYTES = 500_000
_WAYS_OUT = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "mount it writable, or use another folder",
    errno.EACCES: "change its permissions",
    errno.EPERM: "change its permissions",
    errno.ENAMETOOLONG: "use a shorter name",
    errno.ELOOP: "remove the link that leads to itself",
    errno.ENOTDIR: "move away the file that stands where a folder must be",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "end other programs: the machine has too many files open",
    errno.ENOMEM: "end other programs: the machine has no memory left",
    errno.EIO: "look whether the disk is well",
}


def write_crash(log: Path | None, error: BaseException) -> str:
    """Append the traceback of `error` to `log`; give one sentence for the person. Never raises."""
    said = _headline(error)
    if log is None:
        return f"{said}."
    text = "".join(traceback.format_exception(error))
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = "w" if log.exists() and log.stat().st_size > _KEEP_BYTES else "a"
        with open(
            os.open(log, os.O_CREAT | os.O_WRONLY, 0o600), mode, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.seek(0, os.SEEK_END)
            if mode == "w":
                file.truncate(0)
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')}\n{text}\n")
    except OSError as failed:
        return f"{said}; its log {log} cannot be written: {failed.strerror}."
    return f"{said}. Details: {log}"


def _headline(error: BaseException) -> str:
    """Say what happened; what the machine refused is no mistake of the program, and has a way out."""
    while isinstance(error, ExceptionGroup):  # of a task group; all is in the log
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    if isinstance(error, OSError) and (way_out := _WAYS_OUT.get(error.errno or 0)):
        where = f"{str(error.filename)[:200]!r}: " if error.filename else ""
        return f"agent-tui cannot go on: {where}{error.strerror}; {way_out}"
    what = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    return f"agent-tui made a mistake ({what})"

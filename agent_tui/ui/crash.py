"""Writes what went wrong to a log that only its owner can read."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

_KEEP_BYTES = 500_000


def write_crash(log: Path | None, error: BaseException) -> str:
    """Append the traceback of `error` to `log`; give one sentence for the person. Never raises."""
    what = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    if log is None:
        return f"agent-tui made a mistake ({what})."
    text = "".join(traceback.format_exception(error))
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = "w" if log.exists() and log.stat().st_size > _KEEP_BYTES else "a"
        with open(os.open(log, os.O_CREAT | os.O_WRONLY, 0o600), mode) as file:
            file.seek(0, os.SEEK_END)
            if mode == "w":
                file.truncate(0)
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')}\n{text}\n")
    except OSError as failed:
        return f"agent-tui made a mistake ({what}); its log {log} cannot be written: {failed.strerror}."
    return f"agent-tui made a mistake ({what}). Details: {log}"

"""Reads small text files of people: regular ones of a bounded size, so that no pipe or device holds a start up."""

import os
import stat
from pathlib import Path

from agent_tui.protocol.plain_reasons import unreadable

MAX_BYTES = 1 << 20


def read_small(path: Path) -> str:
    """Read UTF-8 with or without a byte order mark, any line ends.

    Raises FileNotFoundError when there is none, else ValueError with the reason.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _read(descriptor).decode("utf-8-sig").replace("\r\n", "\n")
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(unreadable(error)) from error


def _read(descriptor: int) -> bytes:
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        raise ValueError("is a folder" if stat.S_ISDIR(mode) else "is not a regular file")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES:,} bytes")
    return data

"""Compares files with what an approved preview started from."""

import asyncio
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

_CHUNK_BYTES = 1 << 20


async def moved_base(bases: Mapping[str, str]) -> Path | None:
    """Give the first file that no longer holds the content of its SHA-256 (hex; "" for no file), or None."""
    if not bases:
        return None
    return await asyncio.to_thread(_first_moved, dict(bases))


def _first_moved(bases: Mapping[str, str]) -> Path | None:
    """Look at the files one by one."""
    for path, sha256 in bases.items():
        if _sha256(Path(path)) != sha256:
            return Path(path)
    return None


def _sha256(path: Path) -> str | None:
    """Give the SHA-256 of a regular file, "" when there is none, None for anything else.

    A link at the end of a real path was put there later, so it counts as something else.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    try:
        return _digest(descriptor) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _digest(descriptor: int) -> str:
    """Give the SHA-256 of an open file's content."""
    seen = hashlib.sha256()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        seen.update(chunk)
    return seen.hexdigest()

"""Files that only their owner reads: written whole or not at all, changed by one program at a time; whole writes."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Generator
from pathlib import Path


def write_private(path: Path, data: bytes, *, mode: int = 0o600, waits: bool = True) -> None:
    """Write a file whole or not at all; it has its mode from the first moment, a missing folder is made (0700).

    With `waits` it is on the disk when this returns. Raises OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if waits:
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def alone_with(path: Path) -> Generator[None]:
    """Keep other programs from changing `path` meanwhile, by a lock file beside it. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, however little the system takes at a time. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]

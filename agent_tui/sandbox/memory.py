"""Hands bytes to a child through a descriptor."""

import fcntl
import os

# Above the number that a command reports its directory on: another thread may free that one at any moment.
LOWEST = 32


def memory_file(data: bytes) -> int:
    """Give a descriptor, positioned at the start, from which `data` can be read once; its number is
    at least 32; the caller closes it."""
    fd = os.memfd_create("agent-tui", 0)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD, LOWEST)
    finally:
        os.close(fd)

"""Hands bytes to a child through a descriptor."""

import os


def memory_file(data: bytes) -> int:
    """Give a descriptor, positioned at the start, from which `data` can be read once; the caller closes it."""
    fd = os.memfd_create("agent-tui", 0)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd

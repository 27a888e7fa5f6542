"""Opening files beneath a folder without ever following a link out of it."""

import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.paths import Target

_OPENAT2 = 437  # the same number on every Linux architecture
_RESOLVE = 0x02 | 0x04 | 0x08  # NO_MAGICLINKS | NO_SYMLINKS | BENEATH
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not wait for its other end.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOCTTY", 0)


@contextmanager
def opened_parent(target: Target, *, create: bool = False) -> Generator[int, None, None]:
    """Open the folder that holds `target` and give its descriptor; `create` makes missing folders.

    No component may be a link: `target.real` holds none, so one that turned into a link meanwhile is an attack or
    an accident. Raises OSError.
    """
    parts = target.real.relative_to(target.root).parts[:-1]
    root = os.open(target.root, _FOLDER)
    try:
        folder = make_folders(root, parts) if create else open_folder(root, parts)
    finally:
        os.close(root)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def opened_file(target: Target) -> Generator[int, None, None]:
    """Open a regular file for reading and give its descriptor.

    Raises OSError, and ToolError for anything that is not a regular file.
    """
    with opened_parent(target) as folder:
        descriptor = os.open(target.real.name or ".", READ_FLAGS, dir_fd=folder)
    try:
        refuse_special(os.fstat(descriptor).st_mode, shown=target.shown)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_folder(target: Target) -> Generator[int, None, None]:
    """Open the folder `target` for listing and give its descriptor. Raises OSError."""
    root = os.open(target.root, _FOLDER)
    try:
        folder = open_folder(root, target.real.relative_to(target.root).parts)
    finally:
        os.close(root)
    try:
        yield folder
    finally:
        os.close(folder)


def refuse_special(mode: int, *, shown: str) -> None:
    """Raise ToolError that names the kind unless `mode` is that of a regular file."""
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise ToolError(f"{shown} is a directory.")
    raise ToolError(f"{shown} is {kind_of(mode)}, not a regular file.")


def kind_of(mode: int) -> str:
    """Name what a mode stands for, with its article."""
    kinds = {
        stat.S_IFIFO: "a named pipe (FIFO)",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a character device",
        stat.S_IFBLK: "a block device",
        stat.S_IFDIR: "a directory",
        stat.S_IFLNK: "a symbolic link",
    }
    return kinds.get(stat.S_IFMT(mode), "a special file")


def open_folder(root: int, parts: tuple[str, ...]) -> int:
    """Open a folder below the descriptor `root`. Raises OSError, ELOOP or ENOTDIR when a component is a link."""
    if parts and sys.platform == "linux":
        try:
            return _openat2(root, "/".join(parts))
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EAGAIN):
                raise
    return _walk(root, parts)


def make_folders(root: int, parts: tuple[str, ...]) -> int:
    """Open a folder below `root` and make what is missing on the way. Raises OSError."""
    folder = os.dup(root)
    for part in parts:
        folder = _step(folder, part, create=True)
    return folder


def _walk(root: int, parts: tuple[str, ...]) -> int:
    folder = os.dup(root)
    for part in parts:
        folder = _step(folder, part, create=False)
    return folder


def _step(folder: int, part: str, *, create: bool) -> int:
    """Go one component down and close where we came from."""
    try:
        if create:
            try:
                return os.open(part, _FOLDER, dir_fd=folder)
            except FileNotFoundError:
                _make(folder, part)
        return os.open(part, _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)


def _make(folder: int, part: str) -> None:
    try:
        os.mkdir(part, dir_fd=folder)
    except FileExistsError:
        return  # somebody else made it meanwhile


def _openat2(root: int, relative: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    how = struct.pack("QQQ", _FOLDER, 0, _RESOLVE)
    buffer = ctypes.create_string_buffer(how, len(how))
    found: int = libc.syscall(_OPENAT2, root, os.fsencode(relative), buffer, len(how))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), relative)
    return found


def message_of(error: OSError, *, shown: str) -> str:
    """Put a failed file operation into one line for the model."""
    known = {
        errno.ENOENT: "does not exist",
        errno.EACCES: "may not be opened (permission denied)",
        errno.EPERM: "may not be changed (operation not permitted)",
        errno.ENOTDIR: "goes through something that is not a directory",
        errno.EISDIR: "is a directory",
        errno.ELOOP: "goes through a symbolic link that changed meanwhile, or through a loop of links",
        errno.ENOSPC: "could not be written: no space left on the device",
        errno.EDQUOT: "could not be written: the disk quota is used up",
        errno.EFBIG: "could not be written: larger than the allowed file size",
        errno.EROFS: "is on a read-only file system",
        errno.ENAMETOOLONG: "has a name that is too long",
        errno.ENXIO: "is a socket or a device, not a regular file",
        errno.ENODEV: "is a device, not a regular file",
    }
    return f"{shown} {known.get(error.errno or 0, f'could not be used: {error.strerror}')}."

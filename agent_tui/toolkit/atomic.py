"""Replacing the content of files in one step each, and of several files all or nothing."""

import contextlib
import ctypes
import errno
import os
import secrets
import stat
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_tui.protocol.private_file import write_all
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.rooted import opened_parent
from agent_tui.toolkit.stale import PendingTemps
from agent_tui.toolkit.tracker import Stamp

_RENAME_NOREPLACE = 1
_NAME_ROOM = 200
NEW_FILE_MODE = 0o666
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_COPY_CHUNK_BYTES = 1 << 20
# vfat, exFAT, many FUSE and network mounts; EPERM also comes for a file of another owner (fs.protected_hardlinks).
_NO_HARD_LINK = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK}
)


class ChangedMeanwhile(Exception):
    """The file at `target` is not the one the change was computed from."""

    def __init__(self, target: Target) -> None:
        super().__init__(str(target.real))
        self.target = target


@dataclass(frozen=True)
class Write:
    """One step: put `data` at `target` (None: remove it).

    `before` is the stamp of the file the change was computed from, None when nothing was there. `mode` sets
    permission bits, None keeps them. `like` is the file whose mode, owner and attributes a moved file keeps.
    """

    target: Target
    data: bytes | None
    before: Stamp | None
    mode: int | None = None
    like: Target | None = None


@dataclass
class _Staged:
    write: Write
    folder: int
    name: str
    temp: str = ""
    backup: str = ""
    done: bool = False
    stamp: Stamp | None = field(default=None)


def apply(writes: Sequence[Write], pending: PendingTemps) -> list[Stamp | None]:
    """Do all steps or none; give the new stamps without hashes (None for a removed file).

    Every new content is on disk before the first rename; a failure puts back what was renamed.
    Raises ChangedMeanwhile, OSError.
    """
    missing = _missing_folders(writes)
    try:
        return _apply(writes, pending)
    except BaseException:
        _remove_folders(missing)
        raise


def _apply(writes: Sequence[Write], pending: PendingTemps) -> list[Stamp | None]:
    with ExitStack() as stack:
        staged = [stack.enter_context(_staged(write, pending)) for write in writes]
        try:
            for step in staged:
                _commit(step, pending, keep_backup=len(staged) > 1)
        except BaseException:
            for step in reversed(staged):
                _undo(step)
            raise
        for step in staged:
            _settle(step)
        return [step.stamp for step in staged]


@contextmanager
def _staged(write: Write, pending: PendingTemps) -> Generator[_Staged, None, None]:
    """Write the new content beside its target; whatever is left of it is removed in the end."""
    with opened_parent(write.target, create=write.data is not None) as folder:
        step = _Staged(write, folder, write.target.real.name)
        try:
            _check(step)
            if write.data is not None:
                step.temp = _new_name(step, pending)
                _fill(step, write.data)
            yield step
        finally:
            for name in (step.temp, step.backup):
                if name:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=folder)
                    pending.done(write.target.real.parent / name)


def _new_name(step: _Staged, pending: PendingTemps) -> str:
    """Choose a name beside the target and note it, so that a killed program's rest can be found."""
    stem = os.fsdecode(os.fsencode(step.name)[:_NAME_ROOM])
    name = f".{stem}.{secrets.token_hex(8)}.tmp"
    pending.add(step.write.target.real.parent / name)
    return name


def _fill(step: _Staged, data: bytes) -> None:
    descriptor = os.open(step.temp, _CREATE_FLAGS, 0o600, dir_fd=step.folder)
    try:
        write_all(descriptor, data)
        _dress(step, descriptor)
        os.fsync(descriptor)
        step.stamp = Stamp.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _dress(step: _Staged, descriptor: int) -> None:
    """Give the new file the owner, attributes and mode of the one it replaces."""
    write = step.write
    if write.like is not None:
        with opened_parent(write.like) as folder:
            mode = _copy_attributes(write.like.real.name, folder, descriptor)
    elif write.before is not None:
        mode = _copy_attributes(step.name, step.folder, descriptor)
    else:
        mode = default_mode()
    os.fchmod(descriptor, mode if write.mode is None else write.mode)


def _copy_attributes(name: str, folder: int, descriptor: int) -> int:
    """Copy owner and extended attributes (access lists are among them) and give the mode bits."""
    source = os.open(name, _READ_FLAGS, dir_fd=folder)
    try:
        status, own = os.fstat(source), os.fstat(descriptor)
        if (status.st_uid, status.st_gid) != (own.st_uid, own.st_gid):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        if sys.platform == "linux":
            for attribute in _attributes(source):
                _copy_attribute(attribute, source, descriptor)
        return stat.S_IMODE(status.st_mode)
    finally:
        os.close(source)


def _attributes(source: int) -> list[str]:
    try:
        return os.listxattr(source)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENOSYS):
            raise
        return []


def _copy_attribute(attribute: str, source: int, descriptor: int) -> None:
    try:
        os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
    except OSError as error:
        # Labels that only the system may set come with the new file by themselves.
        if error.errno != errno.ENOTSUP and not attribute.startswith(("security.", "trusted.")):
            raise


def default_mode() -> int:
    """Give the permission bits of a new file."""
    return NEW_FILE_MODE & ~_umask()


def _umask() -> int:
    """Give the umask. Read from /proc where there is one, because os.umask can only be asked by setting it."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration):
        mask = os.umask(0o077)
        os.umask(mask)
        return mask


def _check(step: _Staged) -> None:
    """Compare what is at the target with what the change was computed from. Raises ChangedMeanwhile."""
    try:
        status = os.stat(step.name, dir_fd=step.folder, follow_symlinks=False)
    except FileNotFoundError:
        status = None
    before = step.write.before
    same = (
        status is None
        if before is None
        else status is not None and Stamp.of(status).identity == before.identity
    )
    if not same:
        raise ChangedMeanwhile(step.write.target)


def _commit(step: _Staged, pending: PendingTemps, *, keep_backup: bool) -> None:
    _check(step)
    removes = step.write.data is None
    if step.write.before is not None and (removes or keep_backup):
        step.backup = _new_name(step, pending)
        if removes:
            os.rename(step.name, step.backup, src_dir_fd=step.folder, dst_dir_fd=step.folder)
        else:
            _link_or_copy(step.folder, step.name, step.backup)
    step.done = removes
    if removes:
        return
    if step.write.before is None:
        _rename_new(step)
    else:
        os.rename(step.temp, step.name, src_dir_fd=step.folder, dst_dir_fd=step.folder)
    step.done = True
    step.stamp = Stamp.of(os.stat(step.name, dir_fd=step.folder, follow_symlinks=False))


def _rename_new(step: _Staged) -> None:
    """Move the new file to its name unless something appeared there. Raises ChangedMeanwhile."""
    try:
        if not _rename_noreplace(step.folder, step.temp, step.name):
            _link_or_copy(step.folder, step.temp, step.name)
            os.unlink(step.temp, dir_fd=step.folder)
    except FileExistsError as error:
        raise ChangedMeanwhile(step.write.target) from error


def _link_or_copy(folder: int, old: str, new: str) -> None:
    """Give the file `old` the second name `new`, or a copy of it where there are no hard links.

    Raises FileExistsError when `new` is there, OSError.
    """
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINK:
            raise
        _copy(folder, old, new)


def _copy(folder: int, old: str, new: str) -> None:
    """Copy content, owner, attributes, mode and times to a new file that is on disk at the end. Raises OSError."""
    with ExitStack() as stack:
        source = os.open(old, _READ_FLAGS, dir_fd=folder)
        stack.callback(os.close, source)
        made = os.open(new, _CREATE_FLAGS, 0o600, dir_fd=folder)
        stack.callback(os.close, made)
        try:
            while chunk := os.read(source, _COPY_CHUNK_BYTES):
                write_all(made, chunk)
            os.fchmod(made, _copy_attributes(old, folder, made))
            status = os.fstat(source)
            os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(made)
        except BaseException:
            os.unlink(new, dir_fd=folder)
            raise


def _rename_noreplace(folder: int, old: str, new: str) -> bool:
    """Rename unless `new` exists; False where the system cannot. Raises FileExistsError, OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform != "linux" or not hasattr(libc, "renameat2"):
        return False
    if libc.renameat2(folder, os.fsencode(old), folder, os.fsencode(new), _RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
        return False
    raise OSError(number, os.strerror(number), new)


def _missing_folders(writes: Sequence[Write]) -> list[Target]:
    """Give the folders that the writes will have to make, the deepest first."""
    missing: dict[Path, Target] = {}
    for write in writes:
        folder = write.target.real.parent
        while write.data is not None and folder != write.target.root and not os.path.lexists(folder):
            missing[folder] = replace(write.target, real=folder)
            folder = folder.parent
    return [missing[folder] for folder in sorted(missing, key=lambda path: -len(path.parts))]


def _remove_folders(folders: Sequence[Target]) -> None:
    """Remove folders that were made for nothing; one that is in use by now stays."""
    for folder in folders:
        with contextlib.suppress(OSError), opened_parent(folder) as parent:
            os.rmdir(folder.real.name, dir_fd=parent)


def _undo(step: _Staged) -> None:
    """Put back what was there before a step that was done."""
    if not step.done:
        return
    if step.backup:
        os.rename(step.backup, step.name, src_dir_fd=step.folder, dst_dir_fd=step.folder)
    elif step.write.before is None:
        os.unlink(step.name, dir_fd=step.folder)
    os.fsync(step.folder)


def _settle(step: _Staged) -> None:
    """Make the rename durable and drop the copy that could have been put back."""
    if step.backup:
        os.unlink(step.backup, dir_fd=step.folder)
    os.fsync(step.folder)

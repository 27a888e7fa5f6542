"""Reads the state of a workspace's files into a tree, and puts a tree back; runs in the checkpoint worker."""

import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agent_tui.agent.file_scan import SETTLED_NS, Scanner
from agent_tui.agent.hidden_then import HiddenThen
from agent_tui.protocol.private_file import write_all
from agent_tui.sessions.packs import PackedBlobs
from agent_tui.sessions.trees import FILE, LINK, Entry, Tree, TreeStore
from agent_tui.toolkit.rooted import make_folders, open_folder

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_TOTAL_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True)
class Difference:
    """How one path must change to be as in a tree. `now` and `then` are None where there is nothing.

    `conflict` says why it is not done unasked, "" when it may be.
    """

    path: str
    now: Entry | None
    then: Entry | None
    conflict: str = ""


_Stamp = tuple[int, int, int, int, int]
_Known = dict[str, dict[str, tuple[_Stamp, Entry]]]
"""What was read, by folder and name, with the stamp for which it holds."""
_KIND = 0o170000


class _Reading:
    """A tree that is being read, and how much of what may be covered is."""

    def __init__(self) -> None:
        self.tree = Tree(at_ns=time.time_ns())
        self.settled_ns = self.tree.at_ns - SETTLED_NS
        self._total = 0

    def has_room(self, path: str, size_bytes: int) -> bool:
        """Count a file in, or note that it is not covered."""
        self._total += size_bytes
        if size_bytes <= MAX_FILE_BYTES and self._total <= MAX_TOTAL_BYTES:
            return True
        self._total -= size_bytes
        self.tree.uncovered.append(path)
        self.tree.capped = self.tree.capped or size_bytes <= MAX_FILE_BYTES
        return False


class FileState:
    """The files of one workspace. `extra` are absolute paths beside what a scan covers."""

    def __init__(self, root: Path, blobs: PackedBlobs) -> None:
        self._root = root
        self._blobs = blobs
        self._trees = TreeStore(blobs)
        self._scanner = Scanner(root)
        self._known: _Known = {}
        self._seen: _Known = {}
        self.extra: set[str] = set()

    def read(self) -> tuple[str, Tree]:
        """Read the state, storing what is new; give its id and the tree. Raises OSError when it cannot be stored."""
        self._seen = {}
        reading = _Reading()
        base = f"{self._root}/"
        for folder, names in self._scanner.scan():
            self._read_folder(folder, base + folder, names, reading)
        for path in sorted(self.extra):
            self._read_beside(path, reading)
        reading.tree.beside.sort()
        self._known = self._seen
        self._blobs.flush()
        return self._trees.put(reading.tree), reading.tree

    def _read_folder(self, folder: str, place: str, names: Sequence[str], reading: "_Reading") -> None:
        """Read the files `names` of one folder, which lies at `place`. What did not change is not read again."""
        known, entries = self._known.get(folder, {}), reading.tree.entries
        seen = self._seen.setdefault(folder, {})
        lstat, fresh = os.lstat, list[tuple[str, str, _Stamp]]()
        for name in names:
            try:
                status = lstat(place + name)
            except OSError:
                continue
            mode = status.st_mode
            stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, mode)
            kind = mode & _KIND
            if kind == stat.S_IFREG:
                if not reading.has_room(folder + name, stamp[0]):
                    continue
            elif kind != stat.S_IFLNK:
                continue
            before = known.get(name)
            if before is not None and before[0] == stamp:
                seen[name] = before
                entries[folder + name] = before[1]
            else:
                fresh.append((name, folder + name, stamp))
        for name, path, stamp, entry in self._entries(fresh):
            if entry is None:
                reading.tree.uncovered.append(path)
                continue
            entries[path] = entry
            if stamp[2] < reading.settled_ns:  # else it may change again within the same tick
                seen[name] = (stamp, entry)

    def _read_beside(self, path: str, reading: "_Reading") -> None:
        """Read an extra file, unless the scan gave it."""
        inside = os.path.relpath(path, self._root)
        key = path if inside.startswith("..") else inside
        reading.tree.beside.append(key)
        if key not in reading.tree.entries:
            folder, name = os.path.split(key)
            self._read_folder(f"{folder}/" if folder else "", f"{os.path.dirname(path)}/", [name], reading)

    def tree(self, name: str) -> Tree | None:
        """Give a stored tree."""
        return self._trees.get(name)

    def keep(self, tree: Tree) -> str:
        """Store a tree that was not read and give its id. Raises OSError."""
        return self._trees.put(tree)

    def differences(
        self, now: Tree, then: Tree, last: Tree | None, doubtful: Collection[str] = ()
    ) -> list[Difference]:
        """Say what must change to be as in `then`. `last` is the state that the agent left.

        A path that was changed since `last` is the person's and conflicts; so does a removal of what may have been
        there without being covered, and a path in `doubtful`.
        """
        hidden = HiddenThen(then, self._scanner.above, self._blobs.get_bytes)
        found: list[Difference] = []
        for path in sorted({*now.entries, *then.entries}):
            present, wanted = now.entries.get(path), then.entries.get(path)
            if present == wanted:
                continue
            why = ""
            if last is not None and last.entries.get(path) != present:
                why = "changed by hand since"
            elif path in doubtful:
                why = "changed meanwhile by you or by a background job"
            elif wanted is None and _may_have_been(path, then, hidden):
                why = "may have been there before, without being covered"
            found.append(Difference(path, present, wanted, why))
        return found

    def apply(self, differences: Sequence[Difference], allowed: Collection[str]) -> list[tuple[str, str]]:
        """Make the changes that do not conflict or are in `allowed`; give (path, why) of what was left.

        Removals come first, so that a file may give way to a folder; every file is checked once more before it goes.
        """
        left: list[tuple[str, str]] = []
        chosen: list[Difference] = []
        for difference in differences:
            if difference.conflict and difference.path not in allowed:
                left.append((difference.path, difference.conflict))
            else:
                chosen.append(difference)
        removals = [d for d in chosen if d.then is None]
        for difference in [*removals, *(d for d in chosen if d.then is not None)]:
            try:
                self._change(difference)
            except OSError as error:
                left.append((difference.path, error.strerror or str(error)))
        return left

    def _entries(
        self, files: Sequence[tuple[str, str, _Stamp]]
    ) -> Iterator[tuple[str, str, _Stamp, Entry | None]]:
        """Read files of one folder, without following a link at their end; None for one that cannot be read."""
        if not files:
            return
        with ExitStack() as stack:
            try:
                folder, _ = stack.enter_context(self._parent(files[0][1]))
            except OSError:
                yield from ((name, path, stamp, None) for name, path, stamp in files)
                return
            for name, path, stamp in files:
                yield name, path, stamp, self._entry(folder, os.path.basename(name))

    def _entry(self, folder: int, name: str) -> Entry | None:
        """Read and store one file; None when it cannot be read. Raises OSError when it cannot be stored."""
        try:
            kind, mode, data = _read(folder, name)
        except OSError:
            return None
        return Entry(kind, mode, os.fsdecode(data) if kind == LINK else self._blobs.put_bytes(data))

    def _change(self, difference: Difference) -> None:
        path, wanted = difference.path, difference.then
        with self._parent(path, create=wanted is not None) as (folder, name):
            if _identity(folder, name) != difference.now:
                raise OSError(0, "it changed in this moment")
            if wanted is None:
                os.unlink(name, dir_fd=folder)
            elif wanted.kind == LINK:
                temporary = _temporary(name)
                os.symlink(wanted.ref, temporary, dir_fd=folder)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif difference.now and (difference.now.kind, difference.now.ref) == (FILE, wanted.ref):
                os.chmod(name, wanted.mode, dir_fd=folder)
            else:
                self._write(folder, name, wanted)
        if wanted is None:
            self._remove_empty_folders(path)

    def _write(self, folder: int, name: str, wanted: Entry) -> None:
        data = self._blobs.get_bytes(wanted.ref)
        if data is None:
            raise OSError(0, "its stored content is lost")
        temporary = _temporary(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            try:
                write_all(descriptor, data)
                os.fchmod(descriptor, wanted.mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _remove_empty_folders(self, path: str) -> None:
        folder = os.path.dirname(path)
        while folder and not os.path.isabs(folder):
            try:
                with self._parent(folder) as (above, name):
                    os.rmdir(name, dir_fd=above)
            except OSError:
                return
            folder = os.path.dirname(folder)

    @contextmanager
    def _parent(self, path: str, *, create: bool = False) -> Generator[tuple[int, str]]:
        """Open the folder of `path` without following any link; give its descriptor and the last name."""
        base = Path("/") if os.path.isabs(path) else self._root
        *parts, name = [part for part in path.split("/") if part]
        root = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            folder = (make_folders if create else open_folder)(root, tuple(parts))
        finally:
            os.close(root)
        try:
            yield folder, name
        finally:
            os.close(folder)


def _may_have_been(path: str, then: Tree, hidden: Callable[[str], bool]) -> bool:
    """Tell whether a file that `then` does not hold may have been there all the same."""
    if path in then.beside:
        return False
    return then.capped or path in then.uncovered or os.path.isabs(path) or hidden(path)


def _read(folder: int, name: str) -> tuple[str, int, bytes]:
    """Give kind, mode bits and content (a link's target). Raises OSError, also for a file that grew over the limit."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return LINK, 0, os.fsencode(os.readlink(name, dir_fd=folder))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no file")
        parts = [os.read(descriptor, status.st_size + 1)]
        while parts[-1] and sum(map(len, parts)) <= MAX_FILE_BYTES:
            parts.append(os.read(descriptor, MAX_FILE_BYTES))
    finally:
        os.close(descriptor)
    data = b"".join(parts)
    if len(data) > MAX_FILE_BYTES:
        raise OSError(0, "it grew over the limit")
    return FILE, stat.S_IMODE(status.st_mode) & 0o777, data


def _identity(folder: int, name: str) -> Entry | None:
    try:
        kind, mode, data = _read(folder, name)
    except FileNotFoundError:
        return None
    return Entry(kind, mode, os.fsdecode(data) if kind == LINK else hashlib.sha256(data).hexdigest())


def _temporary(name: str) -> str:
    return f".{name[:100]}.{secrets.token_hex(6)}.tmp"

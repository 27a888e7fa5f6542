"""Makes for a session what git would look for and does not find, so that no command can make it instead."""

import contextlib
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

_STUB = b".\n"


class HookFolders:
    """Makes hooks folders that git's configuration names, empty, for as long as a session lasts.

    Git does not see an empty folder, and one that is there can be made read-only.
    """

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}
        self._made: list[Path] = []

    def hold(self, folders: Sequence[Path]) -> list[Path]:
        """Make what is missing, with the folders above it, and give what is to be pinned read-only."""
        return [folder for folder in folders if self._hold(folder)]

    def _hold(self, folder: Path) -> bool:
        try:
            for place in [*[parent for parent in reversed(folder.parents) if not parent.exists()], folder]:
                if not place.exists():
                    place.mkdir()
                    self._made.append(place)
                if place not in self._held:
                    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                    fcntl.flock(fd, fcntl.LOCK_SH)
                    self._held[place] = fd
        except OSError:
            return False  # not ours to write: no command can either
        return True

    def close(self) -> None:
        """Take away what this session made, is empty and no other session holds: its pins would go as well."""
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                fcntl.flock(self._held[path], fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.rmdir()
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()
        self._made.clear()


class CommonDirStubs:
    """Keeps `commondir` in git directories that have none, so that no command can make one.

    Git takes configuration and hooks from the folder that `commondir` names (gitrepository-layout(5)); a new one is
    a way around read-only hooks. The stub says "here", which changes nothing. It is made once per session and removed
    by `close` unless another session still holds it; each pin of a running command hangs on it meanwhile.
    """

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def hold(self, folders: Sequence[Path]) -> list[Path]:
        """Make what is missing and give the paths to pin read-only."""
        return [folder / "commondir" for folder in folders if self._hold(folder / "commondir")]

    def _hold(self, path: Path) -> bool:
        if path in self._held:
            return path.exists()
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except OSError:
            return path.is_file()  # not ours to write: no command can either
        if os.fstat(fd).st_size == 0:
            os.write(fd, _STUB)
        if os.pread(fd, 16, 0) == _STUB:
            fcntl.flock(fd, fcntl.LOCK_SH)
            self._held[path] = fd
        else:
            os.close(fd)  # a linked worktree has a real one
        return True

    def close(self) -> None:
        """Take the stubs away that nobody else holds."""
        for path, fd in self._held.items():
            with contextlib.suppress(OSError):  # held by another session, or gone already
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            os.close(fd)
        self._held.clear()

"""One writer per session: a lock that dies with its owner."""

import errno
import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import cast

from agent_tui.protocol.errors import SessionInUseError
from agent_tui.protocol.json_text import parse_json

HEARTBEAT_S = 10.0
STALE_S = 60.0
_NO_FLOCK = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


class SessionLock:
    """Holds `path` by flock; where the file system has none, by a file that names its owner and is touched.

    Opened with `acquire`. The lock file stays behind: removing it would let two owners in.
    """

    def __init__(self, path: Path, descriptor: int, owner: Path | None) -> None:
        self._path = path
        self._descriptor = descriptor
        self._owner = owner

    @classmethod
    def acquire(cls, path: Path) -> "SessionLock":
        """Take the lock. Raises SessionInUseError when another program has it, OSError when it cannot be made."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        owner: Path | None = None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SessionInUseError(
                    "The session is open in another program; fork it or wait until that ends.", path=path
                ) from None
            except OSError as error:
                if error.errno not in _NO_FLOCK:
                    raise
                owner = path.with_suffix(".owner")
                _claim(owner, path)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, owner)

    @property
    def needs_heartbeat(self) -> bool:
        """Whether `beat` must be called every 10 seconds."""
        return self._owner is not None

    def beat(self) -> None:
        """Say that the owner lives. Failing is harmless: others wait a minute before they take over."""
        if self._owner is not None:
            try:
                os.utime(self._owner)
            except OSError:
                return

    def release(self) -> None:
        """Give the lock back. Cheap to call again."""
        if self._descriptor < 0:
            return
        if self._owner is not None:
            self._owner.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def _claim(owner: Path, path: Path) -> None:
    """Create the owner file, after removing one whose owner is gone."""
    facts = json.dumps({"host": socket.gethostname(), "boot": _boot_id(), "pid": os.getpid()}).encode()
    for _ in range(2):
        try:
            descriptor = os.open(owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            if not _is_stale(owner):
                break
            owner.unlink(missing_ok=True)
            continue
        try:
            os.write(descriptor, facts)
        finally:
            os.close(descriptor)
        return
    raise SessionInUseError("The session is open in another program, perhaps on another host.", path=path)


def _is_stale(owner: Path) -> bool:
    """Tell whether the owner is gone: known for sure on this host, else after a minute of silence."""
    try:
        facts = parse_json(owner.read_bytes())
        age_s = time.time() - owner.stat().st_mtime
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    if not isinstance(facts, dict):
        return age_s > STALE_S
    known = cast("dict[str, object]", facts)
    pid = known.get("pid")
    if known.get("host") == socket.gethostname() and isinstance(pid, int):
        return known.get("boot") != _boot_id() or not _lives(pid)
    return age_s > STALE_S


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""

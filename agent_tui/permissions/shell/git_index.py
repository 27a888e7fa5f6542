"""Says which files a git repository tracks, and which of them may hold secrets, by reading its index."""

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from agent_tui.permissions.paths import is_secret

UNKNOWN = "unknown files"
_MAX_BYTES = 64_000_000
_SHA1_BYTES = 20
_STAT_BYTES = 40
_EXTENDED = 0x4000


def secret_below(root: str, limits: tuple[str, ...] | None = None) -> str:
    """Give a tracked file below one of `limits` (paths from `root`; None is all) that may hold secrets.

    "" when there is none, UNKNOWN when the index cannot be read.
    """
    if not root:
        return ""
    for name in _secrets_of(root):
        if name == UNKNOWN or limits is None or any(_is_below(name, limit) for limit in limits):
            return name
    return ""


def tracked(root: str, most: int) -> tuple[str, ...] | None:
    """Give the paths that git tracks; None when there are more than `most` or the index cannot be read."""
    try:
        with (Path(_git_folder(root)) / "index").open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            return None
        names = tuple(islice(_names(data), most + 1))
    except (OSError, ValueError, IndexError):
        return None
    return names if len(names) <= most else None


def _is_below(name: str, limit: str) -> bool:
    return limit in (".", name) or name.startswith(f"{limit}/")


def _secrets_of(root: str) -> tuple[str, ...]:
    path = os.path.join(_git_folder(root), "index")
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return () if _is_new(os.path.dirname(path)) else (UNKNOWN,)
    except OSError:
        return (UNKNOWN,)
    if facts.st_size > _MAX_BYTES:
        return (UNKNOWN,)
    return _read(path, facts.st_mtime_ns, facts.st_size, facts.st_ino)


def _git_folder(root: str) -> str:
    """Give the git directory; that of a linked work tree is named in a file."""
    path = os.path.join(root, ".git")
    try:
        text = (
            Path(path).read_text(encoding="utf-8", errors="surrogateescape") if os.path.isfile(path) else ""
        )
    except OSError:
        return path
    return os.path.join(root, text.removeprefix("gitdir:").strip()) if text.startswith("gitdir:") else path


def _is_new(folder: str) -> bool:
    """Tell whether a git directory holds no object yet, so that nothing can be printed."""
    try:
        loose = set(os.listdir(os.path.join(folder, "objects"))) - {"info", "pack"}
        return not loose and not os.listdir(os.path.join(folder, "objects/pack"))
    except FileNotFoundError:
        return True
    except OSError:
        return False


@lru_cache(
    maxsize=8
)  # a round asks about one repository again and again; the key names one state of the file
def _read(path: str, _mtime_ns: int, _size: int, _inode: int) -> tuple[str, ...]:
    try:
        data = Path(path).read_bytes()
        return tuple(name for name in _names(data) if is_secret(name))
    except (OSError, ValueError, IndexError):
        return (UNKNOWN,)


def _names(data: bytes) -> Iterator[str]:
    """Give the path of every entry of an index of version 2, 3 or 4. Raises ValueError, IndexError."""
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    at, name = 12, b""
    fixed = _STAT_BYTES + _SHA1_BYTES
    for _ in range(count):
        start = at + fixed + (4 if data[at + fixed] << 8 & _EXTENDED else 2)
        if version == 4:
            cut, start = _number(data, start)
            if cut > len(name):
                raise ValueError("a name that is cut too short")
            name = name[: len(name) - cut]
        else:
            name = b""
        end = data.index(b"\0", start)
        name += data[start:end]
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
        yield name.decode("utf-8", "surrogateescape")
    _check_rest(data, at)


def _check_rest(data: bytes, at: int) -> None:
    """Raise ValueError unless extensions and a checksum follow: else another hash gives entries another size."""
    while at < len(data) - _SHA1_BYTES:
        if not data[at : at + 4].isalpha():
            raise ValueError("not an extension")
        if data[at : at + 4] == b"link":
            raise ValueError("the index is split")
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    if at != len(data) - _SHA1_BYTES:
        raise ValueError("the index does not end where it should")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable length; give it and where it ends."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = (value + 1 << 7) | (data[at] & 127)
    return value, at + 1

"""The paths that git tracks, read from the index file itself: no program runs."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 64_000_000
_HEAD = 12
_FIXED = 62  # up to and with the flags of an entry; the name follows
_EXTENDED = 0x4000


def tracked_paths(folder: Path) -> list[str]:
    """List the tracked files below `folder`, relative to it; none when there is no index that can be read."""
    for root in (folder, *folder.parents):
        index = _index_of(root)
        if index is not None:
            prefix = "" if root == folder else f"{folder.relative_to(root).as_posix()}/"
            names = _names(index)
            return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return []


def _index_of(root: Path) -> bytes | None:
    """Give the bytes of the index of a working tree, None when `root` is none."""
    dot_git = root / ".git"
    try:
        if dot_git.is_file():
            line = dot_git.read_text(encoding="utf-8", errors="replace")[:4096].strip()
            dot_git = root / line.removeprefix("gitdir:").strip()
        file = dot_git / "index"
        return file.read_bytes() if file.stat().st_size <= MAX_BYTES else b""
    except OSError:
        return b"" if dot_git.is_dir() else None


def _names(data: bytes) -> list[str]:
    """Read the names of versions 2 and 3; version 4, which shortens names, and anything broken gives none."""
    if data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in (2, 3):
        return []
    names: list[str] = []
    at = _HEAD
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + _FIXED - 2 : at + _FIXED], "big")
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        end = data.find(b"\0", start)
        if end < 0 or start >= len(data):
            return names
        name = data[start:end].decode("utf-8", "replace")
        if name.isprintable():
            names.append(name)
        at += (end - at + 8) // 8 * 8
    return names

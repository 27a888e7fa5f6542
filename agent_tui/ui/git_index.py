"""The paths that git tracks, read from the index file itself: no program runs."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 64_000_000
_HEAD = 12
_FIXED = 62  # up to and with the flags of an entry; the name follows
_EXTENDED = 0x4000
_MAX_NUMBER_BYTES = 5


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
    """Read the names of versions 2, 3 and 4; anything else, or what is broken, gives those read so far."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return []
    names: list[str] = []
    at, before = _HEAD, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + _FIXED - 2 : at + _FIXED], "big")
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        cut, text = _cut(data, start) if version == 4 else (len(before), start)
        end = data.find(b"\0", text)
        if end < 0 or start >= len(data) or cut > len(before):
            return names
        before = before[: len(before) - cut] + data[text:end]
        name = before.decode("utf-8", "replace")
        if name.isprintable():
            names.append(name)
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
    return names


def _cut(data: bytes, at: int) -> tuple[int, int]:
    """Read how many bytes of the name before are dropped, 7 bits a byte as git writes offsets; give it and what is next.

    Version 4 writes a name as this number and what follows the rest of the name before, without padding.
    """
    cut = -1
    for place in range(at, min(at + _MAX_NUMBER_BYTES, len(data))):
        cut = ((cut + 1) << 7) + (data[place] & 0x7F)
        if not data[place] & 0x80:
            return cut, place + 1
    return len(data), at

"""A folder as an indented tree."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_tui.toolkit.git_diff import quoted
from agent_tui.toolkit.text import count

ENTRY_LIMIT = 1_000
DEPTH_LIMIT = 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Ignores = Callable[[str, bool], bool]
"""Tells whether a path relative to the base (and whether it is a folder) is left out."""


@dataclass
class Tree:
    """The lines of a tree. `left_out` counts entries beyond the limit in folders that were looked into."""

    lines: list[str] = field(default_factory=list[str])
    entries: int = 0
    left_out: int = 0
    deeper: int = 0
    unreadable: list[str] = field(default_factory=list[str])

    def notes(self) -> list[str]:
        """Say what the tree does not show."""
        notes: list[str] = []
        if self.left_out:
            notes.append(
                f"showing {self.entries:,} entries, at least {self.left_out:,} more; list a subfolder or use glob"
            )
        if self.deeper:
            notes.append(f"{count(self.deeper, 'folder')} not opened, too deep")
        notes += [f"cannot read {name}" for name in self.unreadable]
        return notes


def tree(base: int, *, depth: int, ignores: Ignores) -> Tree:
    """List the folder open as `base`, folders first and then by name; links are shown and not followed."""
    found = Tree()
    _list(base, "", 1, min(depth, DEPTH_LIMIT), ignores, found)
    return found


def _list(folder: int, prefix: str, level: int, depth: int, ignores: Ignores, found: Tree) -> None:
    for entry in _entries(folder, prefix, ignores):
        if found.entries >= ENTRY_LIMIT:
            found.left_out += 1
            continue
        found.entries += 1
        is_folder = entry.is_dir(follow_symlinks=False)
        found.lines.append(f"{'  ' * level}- {quoted(entry.name)}{_mark(folder, entry, is_folder=is_folder)}")
        if is_folder and level >= depth:
            found.deeper += 1
        elif is_folder:
            _open(folder, entry.name, f"{prefix}{entry.name}/", level + 1, depth, ignores, found)


def _open(folder: int, name: str, prefix: str, level: int, depth: int, ignores: Ignores, found: Tree) -> None:
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        found.unreadable.append(quoted(prefix))
        return
    try:
        _list(inner, prefix, level, depth, ignores, found)
    except OSError:
        found.unreadable.append(quoted(prefix))
    finally:
        os.close(inner)


def _entries(folder: int, prefix: str, ignores: Ignores) -> Sequence["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        kept = [
            entry
            for entry in entries
            if not ignores(f"{prefix}{entry.name}", entry.is_dir(follow_symlinks=False))
        ]
    return sorted(kept, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name))


def _mark(folder: int, entry: "os.DirEntry[str]", *, is_folder: bool) -> str:
    if entry.is_symlink():
        return f" -> {quoted(os.readlink(entry.name, dir_fd=folder))}"
    return "/" if is_folder else ""

"""A folder as an indented tree."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_tui.toolkit.git_diff import quoted
from agent_tui.toolkit.text import count
from agent_tui.toolkit.tree_filter import TreeFilter

ENTRY_LIMIT = 1_000
DEPTH_LIMIT = 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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


def tree(base: int, *, depth: int, hiding: TreeFilter) -> Tree:
    """List the folder open as `base`, folders first and then by name; links are shown and not followed."""
    found = Tree()
    _list(base, "", 1, min(depth, DEPTH_LIMIT), hiding, found)
    return found


def _list(folder: int, prefix: str, level: int, depth: int, hiding: TreeFilter, found: Tree) -> None:
    entries, own = _entries(folder, hiding)
    for entry in entries:
        if found.entries >= ENTRY_LIMIT:
            found.left_out += 1
            continue
        found.entries += 1
        is_folder = entry.is_dir(follow_symlinks=False)
        found.lines.append(f"{'  ' * level}- {quoted(entry.name)}{_mark(folder, entry, is_folder=is_folder)}")
        if is_folder and level >= depth:
            found.deeper += 1
        elif is_folder:
            _open(
                folder, entry.name, f"{prefix}{entry.name}/", level + 1, depth, own.below(entry.name), found
            )


def _open(
    folder: int, name: str, prefix: str, level: int, depth: int, hiding: TreeFilter, found: Tree
) -> None:
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        found.unreadable.append(quoted(prefix))
        return
    try:
        _list(inner, prefix, level, depth, hiding, found)
    except OSError:
        found.unreadable.append(quoted(prefix))
    finally:
        os.close(inner)


def _entries(folder: int, hiding: TreeFilter) -> tuple[Sequence["os.DirEntry[str]"], TreeFilter]:
    """Give the entries that are shown, folders first, and the filter with what the folder adds."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    own = hiding.entered({entry.name for entry in entries})
    kept = [e for e in entries if not own.hides(e.name, is_folder=e.is_dir(follow_symlinks=False))]
    return sorted(kept, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name)), own


def _mark(folder: int, entry: "os.DirEntry[str]", *, is_folder: bool) -> str:
    if entry.is_symlink():
        return f" -> {quoted(os.readlink(entry.name, dir_fd=folder))}"
    return "/" if is_folder else ""

"""Finds the files a checkpoint covers: all that git would not ignore, hidden ones and symlinks included."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from agent_tui.toolkit.ignore_rules import (
    IGNORE_NAME,
    IgnoreFile,
    layers_above,
    nested_layers,
    read_ignore_file,
    surroundings,
)

_Rules = tuple[IgnoreFile, int, str]
_SKIPPED = frozenset({".git", ".hg", ".svn"})


def scan(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Give path (relative to the real path `root`, "/" between) and lstat of every covered file and symlink.

    Ignored entries, version control folders and special files are left out; symlinks are given, not followed.
    """
    where = surroundings(root, root)
    start: list[_Rules] = []
    for layer in layers_above(where, root):
        between = root.relative_to(layer.folder).as_posix()
        start.append((layer.rules, 0, "" if between == "." else f"{between}/"))
    stack: list[tuple[str, list[_Rules]]] = [("", start)]
    while stack:
        folder, rules = stack.pop()
        try:
            with os.scandir(root / folder if folder else root) as listing:
                entries = list(listing)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if folder and ".git" in names:
            rules = [
                (layer.rules, len(folder), "") for layer in nested_layers(root / folder, where.user_file)
            ]
        if IGNORE_NAME in names and (own := read_ignore_file(root / folder / IGNORE_NAME)):
            rules = [*rules, (own, len(folder), "")]
        for entry in entries:
            name = entry.name
            if name in _SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                path = f"{folder}{name}/"
                if not (rules and _ignored(rules, f"{name}/", path)):
                    stack.append((path, rules))
                continue
            path = f"{folder}{name}"
            if rules and _ignored(rules, name, path):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield path, status


def _ignored(rules: list[_Rules], name: str, path: str) -> bool:
    for own, cut, above in reversed(rules):
        decision = own.decide(name, above + path[cut:])
        if decision is not None:
            return decision
    return False

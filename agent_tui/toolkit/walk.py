"""Finds the files below a folder that git would not ignore and that are not hidden."""

import os
from collections.abc import Iterator
from pathlib import Path

from agent_tui.toolkit.ignore_rules import (
    IGNORE_NAME,
    IgnoreFile,
    Layer,
    layers_above,
    nested_layers,
    read_ignore_file,
    surroundings,
)

# An ignore file with the length to cut off a path relative to the base, and what to put before it.
_Rules = tuple[IgnoreFile, int, str]


def walk(base: Path, workspace: Path) -> Iterator[str]:
    """Give the path, relative to `base`, of every regular file below the real path `base`.

    Hidden entries and what ignore files name are left out, symlinks are neither given nor followed. The order is
    that of the directories.
    """
    where = surroundings(base, workspace)
    start = [_above(layer, base) for layer in layers_above(where, base)]
    stack: list[tuple[str, list[_Rules]]] = [("", start)]
    while stack:
        folder, rules = stack.pop()
        try:
            with os.scandir(base / folder if folder else base) as listing:
                entries = list(listing)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if folder and ".git" in names:
            rules = [
                (layer.rules, len(folder), "") for layer in nested_layers(base / folder, where.user_file)
            ]
        if IGNORE_NAME in names and (own := read_ignore_file(base / folder / IGNORE_NAME)):
            rules = [*rules, (own, len(folder), "")]
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                path = f"{folder}{name}/"
                if not _ignored(rules, f"{name}/", path):
                    stack.append((path, rules))
            elif entry.is_file(follow_symlinks=False):
                path = f"{folder}{name}"
                if not _ignored(rules, name, path):
                    yield path


def _above(layer: Layer, base: Path) -> _Rules:
    between = base.relative_to(layer.folder).as_posix()
    return layer.rules, 0, "" if between == "." else f"{between}/"


def _ignored(rules: list[_Rules], name: str, path: str) -> bool:
    for own, cut, above in reversed(rules):
        decision = own.decide(name, above + path[cut:])
        if decision is not None:
            return decision
    return False

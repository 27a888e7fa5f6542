"""Looks once through the workspace for what commands must not change or see: repositories and .env files."""

import os
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = frozenset({"node_modules", ".venv", "__pycache__", ".tox", ".mypy_cache"})
MAX_SECONDS = 3.0
_HARMLESS_ENV = frozenset(
    {".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".envrc"}
)


@dataclass
class Survey:
    """What was found, nearest to the workspace first.

    `git_folders` are `.git` directories, `git_files` `.git` files (worktrees, submodules), `git_links` symbolic
    links of that name, `bare` are folders that look like a bare repository. `complete` is False when the time was up.
    """

    git_folders: list[Path] = field(default_factory=list[Path])
    git_files: list[Path] = field(default_factory=list[Path])
    git_links: list[Path] = field(default_factory=list[Path])
    bare: list[Path] = field(default_factory=list[Path])
    env_files: list[Path] = field(default_factory=list[Path])
    complete: bool = True


def survey(workspace: Path, *, max_seconds: float = MAX_SECONDS) -> Survey:
    """Walk every folder below `workspace`, links not followed; 50,000 files take about 0.1 s."""
    found = Survey()
    deadline = time.monotonic() + max_seconds
    waiting = deque([str(workspace)])
    while waiting:
        if time.monotonic() > deadline:
            found.complete = False
            break
        waiting.extend(_look(waiting.popleft(), found))
    return found


def is_env_file(name: str) -> bool:
    """Tell whether `name` is that of a file of environment secrets."""
    return name.startswith(".env") and name not in _HARMLESS_ENV and (len(name) == 4 or name[4] in ".-_")


def _look(folder: str, found: Survey) -> list[str]:
    """Note what `folder` holds and give the folders in it that are to be looked into."""
    folders: list[str] = []
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    names.add(name)
                    if name == ".git":
                        found.git_folders.append(Path(entry.path))
                    elif name not in SKIPPED:
                        folders.append(entry.path)
                elif name == ".git":
                    links = found.git_links if entry.is_symlink() else found.git_files
                    links.append(Path(entry.path))
                elif name == "HEAD":
                    names.add(name)
                elif name.startswith(".env") and is_env_file(name):
                    found.env_files.append(Path(entry.path))
    except OSError:
        return []  # cannot be read or is gone: commands cannot change it either
    if {"HEAD", "objects", "refs"} <= names:
        found.bare.append(Path(folder))
        return []
    return folders

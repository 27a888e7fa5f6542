"""Finds what of git must not be written by a command: hooks and configuration of every repository below."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

MAX_REPOSITORIES = 200


@dataclass(frozen=True)
class GitPins:
    """`writable` are git directories to bind onto themselves (a mount point cannot be renamed away);
    `read_only` are their hooks and configuration."""

    writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()


def find_pins(workspace: Path) -> GitPins:
    """Search `workspace` once, nested repositories and submodules included; a walk of every folder.

    An absent hooks folder of a repository is created empty: only an existing path can be pinned.
    """
    folders = _git_directories(workspace)[:MAX_REPOSITORIES]
    read_only: list[Path] = []
    for folder in folders:
        for part in (folder, *_modules(folder)):
            read_only += _pinned_parts(part)
    return GitPins(tuple(folders), tuple(dict.fromkeys(read_only)))


def _git_directories(workspace: Path) -> list[Path]:
    found: list[Path] = []
    for current, folders, files in os.walk(workspace):
        if ".git" in folders:
            found.append(Path(current, ".git"))
        elif ".git" in files:
            found += _linked(Path(current, ".git"), workspace)
        elif "HEAD" in files and {"objects", "refs"} <= set(folders) and current != str(workspace):
            found.append(Path(current))
        folders[:] = [name for name in folders if name not in {".git", "node_modules"}]
    return found


def _linked(pointer: Path, workspace: Path) -> list[Path]:
    """Follow a `.git` file of a worktree or submodule to its directories, when they belong to it."""
    try:
        text = pointer.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return []
    if not text.startswith("gitdir:"):
        return []
    directory = (pointer.parent / text.removeprefix("gitdir:").strip()).resolve()
    if directory.is_relative_to(workspace) or not _points_back(directory, pointer):
        return []  # inside: found by the walk or as a module; elsewhere without a link back: not ours
    common = directory / "commondir"
    if common.is_file():
        return [(directory / common.read_text(encoding="utf-8").strip()).resolve()]
    return [directory]


def _points_back(directory: Path, pointer: Path) -> bool:
    try:
        return (directory / "gitdir").read_text(encoding="utf-8").strip() == str(pointer)
    except OSError:
        return False


def _modules(folder: Path) -> list[Path]:
    modules = folder / "modules"
    return (
        [Path(current) for current, _, files in os.walk(modules) if "HEAD" in files]
        if modules.is_dir()
        else []
    )


def _pinned_parts(folder: Path) -> list[Path]:
    hooks = folder / "hooks"
    with contextlib.suppress(OSError):  # a read-only repository needs no pin
        hooks.mkdir(exist_ok=True)
    names = ("hooks", "config", "config.worktree")
    return [folder / name for name in names if (folder / name).exists()]

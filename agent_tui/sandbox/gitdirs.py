"""Says what of git no command may write: hooks, configuration and pointers of every repository in reach."""

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.sandbox.gitnamed import hooks_folders, named_in_config
from agent_tui.sandbox.survey import Survey, survey

# Mounts cost bubblewrap the square of their number: 300 of them 300 ms, 100 of them 40 ms.
MAX_WRITABLE = 8
MAX_PINNED = 40
_READ_ONLY = ("hooks", "config", "config.worktree", "info", "commondir", "gitdir")
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)
_MAX_READ_BYTES = 65_536


@dataclass(frozen=True)
class GitPins:
    """`writable` are bound onto themselves, outer ones first: a mount point cannot be renamed or replaced.

    They are git directories and the folders on the way to nested ones. `read_only` are hooks, configuration and
    pointers. `main` are the git directories among them, where an absent `commondir` would be a way in; `absent_hooks`
    are hooks folders of the workspace that configuration names and that are not there yet or empty.
    """

    writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    main: tuple[Path, ...] = ()
    absent_hooks: tuple[Path, ...] = ()


def find_pins(workspace: Path, found: Survey | None = None, *, home: Path | None = None) -> GitPins:
    """Work out the pins of `workspace` from what a survey found (default: a fresh one).

    An absent hooks folder of a repository is created empty: only an existing path can be pinned. `home` is where the
    user's own git configuration lies. Of many repositories
    the nearest `MAX_WRITABLE` can be committed to; the next, up to `MAX_PINNED`, are read-only as a whole.
    """
    found = found or survey(workspace)
    main, read_only = _git_directories(workspace, found)
    writable: list[Path] = []
    for path in (*found.git_folders, *found.git_files, *found.bare)[:MAX_PINNED]:
        writable += _way_to(path, workspace)
    full, rest = main[:MAX_WRITABLE], main[MAX_WRITABLE:MAX_PINNED]
    absent: list[Path] = []
    for folder in full:
        _make_hooks(folder)
        named = named_in_config(folder, home)
        if named.per_worktree:
            _make_worktree_config(folder)
        read_only += _parts(folder)
        bases = [folder.parent, *(pointer.parent for pointer in found.git_files[:MAX_PINNED])]
        hooks = [path for path in hooks_folders(named, bases) if _lies_in(path, workspace)]
        for path in (*hooks, *(path for path in named.included if _lies_in(path, workspace))):
            writable += _way_to(path, workspace)
            read_only += [path] if path.exists() else []
        absent += [path for path in hooks if _is_absent_or_empty(path)]
    read_only += [folder for folder in rest if _lies_in(folder, workspace)]
    read_only += [part for folder in found.bare[:MAX_PINNED] for part in _parts(folder)]
    writable += full
    for folder in full:
        writable += [parent for parent in folder.parents if _is_within_git(parent, full)]
    outer_first = sorted(_unique(writable), key=lambda path: len(path.parts))
    return GitPins(tuple(outer_first), _unique(read_only), _unique(full), _unique(absent))


def _is_within_git(path: Path, folders: Sequence[Path]) -> bool:
    """Tell whether `path` lies on the way from a git directory to that of a submodule."""
    return any(path.is_relative_to(folder) for folder in folders)


def _git_directories(workspace: Path, found: Survey) -> tuple[list[Path], list[Path]]:
    """Give the git directories, nearest first, and what is read-only of the rest."""
    main: list[Path] = []
    read_only: list[Path] = []
    for folder in found.git_folders[:MAX_PINNED]:
        if _is_tangled(folder):
            read_only.append(folder)  # a link would be replaced, not its target: nothing of it may be written
        else:
            main += [folder, *_modules(folder)]
    for pointer in found.git_files[:MAX_PINNED]:
        read_only.append(pointer)
        main += _linked(pointer, workspace)
    for link in found.git_links[:MAX_PINNED]:
        main += _target(link, workspace)
    return list(dict.fromkeys(main)), read_only


def _unique(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))


def _way_to(path: Path, workspace: Path) -> list[Path]:
    """Give the folders between `workspace` and `path`: one that can be renamed takes the pin with it."""
    between = path.relative_to(workspace).parts[:-1]
    return [workspace.joinpath(*between[: depth + 1]) for depth in range(len(between))]


def _is_tangled(folder: Path) -> bool:
    return any((folder / name).is_symlink() for name in _READ_ONLY)


def _parts(folder: Path) -> list[Path]:
    """Give what may not be written in a git directory, its linked worktrees included."""
    names = [folder / name for name in _READ_ONLY]
    worktrees = folder / "worktrees"
    if worktrees.is_dir():
        for tree in worktrees.iterdir():
            names += [tree / name for name in ("commondir", "gitdir", "config.worktree")]
    return [path for path in names if path.exists() and not path.is_symlink()]


def _is_absent_or_empty(path: Path) -> bool:
    """Tell whether a hooks folder is one that a session makes, or may have made."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def _lies_in(path: Path, workspace: Path) -> bool:
    return path != workspace and path.is_relative_to(workspace)


def _make_hooks(folder: Path) -> None:
    with contextlib.suppress(OSError):  # a read-only repository needs no pin
        (folder / "hooks").mkdir(exist_ok=True)


def _make_worktree_config(folder: Path) -> None:
    """Make the second configuration that git would read, where it is not there yet: else a command makes it."""
    worktrees = folder / "worktrees"
    trees = [*worktrees.iterdir()] if worktrees.is_dir() else []
    for place in (folder, *trees):
        with contextlib.suppress(OSError):  # it is there, or it is not ours to write
            (place / "config.worktree").touch(exist_ok=False)


def _modules(folder: Path) -> list[Path]:
    """Give the git directories of submodules, nested ones included."""
    top = folder / "modules"
    if not top.is_dir() or top.is_symlink():
        return []
    return [Path(current) for current, names, files in os.walk(top) if "HEAD" in files and "objects" in names]


def _target(link: Path, workspace: Path) -> list[Path]:
    """Follow a `.git` link, but only to a git directory of the workspace itself."""
    target = link.resolve()
    inside = target.is_relative_to(workspace) and target != workspace
    return [target] if inside and is_git_directory(target) else []


def is_git_directory(path: Path) -> bool:
    """Tell whether `path` looks like a git directory to git itself."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _linked(pointer: Path, workspace: Path) -> list[Path]:
    """Follow a `.git` file to the git directory of its worktree or submodule outside the workspace.

    Only one that leads back to this pointer counts: else a file of the project would choose what is writable.
    """
    text = _read(pointer)
    if not text.startswith("gitdir:"):
        return []
    directory = (pointer.parent / text.removeprefix("gitdir:").strip()).resolve()
    if directory.is_relative_to(workspace) or workspace.is_relative_to(directory):
        return []  # inside: found as a module or by the walk
    if directory.parent.name == "worktrees":
        common = directory.parent.parent
        back = _read(directory / "gitdir").strip()
        named = (directory / _read(directory / "commondir").strip()).resolve()
        if back and (directory / back).resolve() == pointer and named == common and is_git_directory(common):
            return [common]
        return []
    return [directory] if _is_module_of(directory, pointer) else []


def _is_module_of(directory: Path, pointer: Path) -> bool:
    """Tell whether `directory` is `.git/modules/...` of a repository around the pointer's own folder."""
    match = _WORKTREE.search(_read(directory / "config"))
    if match is None or not is_git_directory(directory):
        return False
    modules = [parent for parent in directory.parents if parent.name == "modules"]
    around = any(m.parent.name == ".git" and pointer.is_relative_to(m.parent.parent) for m in modules)
    return around and (directory / match[1]).resolve() == pointer.parent


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_READ_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""

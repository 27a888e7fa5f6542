"""The project's files for `@`: walked in a thread of their own, ignore files obeyed, with limits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_tui.ui.commands.fuzzy import Match, fuzzy
from agent_tui.ui.git_index import tracked_paths

FILE_LIMIT = 50_000
WALK_LIMIT_S = 5.0
FRESH_S = 20.0
_CHUNK = 1500
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})

Ignored = Callable[[str], bool]


class FileIndex:
    """The paths below a folder, relative, folders with a final slash.

    The walk runs in a daemon thread, so that a file system that hangs holds up neither a key nor the end of the
    program. Until it is done the list of the walk before is used.
    """

    def __init__(self, root: Path, find: Callable[[Path], Sequence[str]] | None = None) -> None:
        self._root = root
        self._find = find or walk
        self._paths: Sequence[str] = ()
        self._walked_at = 0.0
        self._walking = False

    @property
    def paths(self) -> Sequence[str]:
        """What is known so far."""
        return self._paths

    def refresh(self, done: Callable[[], None]) -> None:
        """Walk again when the list is old; `done` is called on the event loop when it is new."""
        if self._walking or (self._walked_at and time.monotonic() - self._walked_at < FRESH_S):
            return
        self._walking = True
        loop = asyncio.get_running_loop()

        def work() -> None:
            found, fault = self._paths, None
            try:
                found = self._find(self._root)
            except Exception as error:  # a bug of ours: it must not end completion for the whole session
                fault = error
            with contextlib.suppress(
                RuntimeError
            ):  # the loop was closed meanwhile: nobody waits for the list
                loop.call_soon_threadsafe(self._arrived, found, fault, done)

        threading.Thread(target=work, name="file-index", daemon=True).start()

    def _arrived(self, found: Sequence[str], fault: Exception | None, done: Callable[[], None]) -> None:
        if fault is not None:
            report = {"message": "The walk for @ failed", "exception": fault}
            asyncio.get_running_loop().call_exception_handler(report)
        self._paths, self._walking, self._walked_at = found, False, time.monotonic()
        done()

    async def search(self, query: str, *, limit: int = 50) -> list[Match[str]]:
        """Rank the paths against `query`, giving way to keys between slices."""
        paths = self._paths
        if not query:
            return [Match(path, 0.0, ()) for path in paths[:limit]]
        found: list[Match[str]] = []
        for start in range(0, len(paths), _CHUNK):
            found.extend(_matches(query, paths[start : start + _CHUNK]))
            await asyncio.sleep(0)
        found.sort(key=lambda match: -match.score)
        return found[:limit]


def _matches(query: str, paths: Sequence[str]) -> Iterator[Match[str]]:
    for path in paths:
        whole = fuzzy(query, path)
        if whole is None:
            continue
        base = path.rstrip("/").rpartition("/")[2]
        named = fuzzy(query, base)
        bonus = named[0] if named is not None else 0.0
        yield Match(path, whole[0] + bonus, whole[1])


def walk(root: Path, *, limit: int = FILE_LIMIT, limit_s: float = WALK_LIMIT_S) -> list[str]:
    """List files and folders below `root`, shallow ones first, without what ignore files name but git does not track.

    Links to folders are not followed, unreadable folders are skipped, and the walk ends at `limit` paths or after
    `limit_s` seconds with what it has.
    """
    found: list[str] = []
    end = time.monotonic() + limit_s
    level: list[tuple[str, tuple[Ignored, ...]]] = [("", ())]
    while level and len(found) < limit and time.monotonic() < end:
        below: list[tuple[str, tuple[Ignored, ...]]] = []
        for folder, rules in level:
            rules = (*rules, *_ignore_rules(root, folder))
            for name, is_folder in _entries(root / folder):
                path = f"{folder}{name}"
                if any(ignored(f"{path}/" if is_folder else path) for ignored in rules):
                    continue
                found.append(f"{path}/" if is_folder else path)
                if is_folder:
                    below.append((f"{path}/", rules))
            if len(found) >= limit or time.monotonic() >= end:
                break
        level = below
    return [*found, *_tracked_beside(root, found)][:limit]


def _tracked_beside(root: Path, found: Sequence[str]) -> list[str]:
    """List what git tracks although an ignore file names it."""
    known = frozenset(found)
    return [path for path in tracked_paths(root) if path not in known and (root / path).is_file()]


def _entries(folder: Path) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.name not in _SKIPPED and entry.name.isprintable()
            )
    except OSError:
        return []


def _ignore_rules(root: Path, folder: str) -> list[Ignored]:
    text = _text(root / folder / ".gitignore")
    if not folder:
        text += "\n" + _text(root / ".git" / "info" / "exclude")
    if not text.strip():
        return []
    from pathspec import GitIgnoreSpec  # 12 ms, only when the first @ is typed
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns: list[GitIgnoreSpecPattern] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        for line in text.splitlines():
            with contextlib.suppress(ValueError, re.error):  # git lets such a line match nothing
                patterns.append(GitIgnoreSpecPattern(line))
    spec = GitIgnoreSpec(patterns)
    return [lambda path: spec.match_file(path.removeprefix(folder))]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

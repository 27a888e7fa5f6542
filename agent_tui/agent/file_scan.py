"""Finds the files a checkpoint covers: all that git would not ignore, hidden ones and symlinks included."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.toolkit.ignore_rules import (
    IGNORE_NAME,
    IgnoreFile,
    Surroundings,
    layers_above,
    nested_layers,
    read_ignore_file,
    surroundings,
)

Rules = tuple[IgnoreFile, int, str]
"""An ignore file; how much of a path is cut off before it looks, and what is put before the rest."""

_Stamp = tuple[int, int, int, int]
_SKIPPED = frozenset({".git", ".hg", ".svn"})
_GONE: _Stamp = (0, 0, 0, 0)
SETTLED_NS = 50_000_000
"""What changed less than this ago may change again without another time stamp: kernels count in ticks of 1 to 10 ms."""


@dataclass(slots=True)
class _Folder:
    """What is known of a folder: it holds while its stamp, its ignore file and the rules above it are the same.

    `names` are its covered files, `below` its subfolders (paths that end in "/"), `rules` those for what is in it.
    """

    stamp: _Stamp
    ignore_stamp: _Stamp
    above: Sequence[Rules]
    rules: Sequence[Rules]
    names: list[str]
    below: list[str]


class Scanner:
    """Scans `root` (a real path) again and again; folders that did not change are not listed anew.

    50,000 files in 520 folders take 0.2 s after the first time, half of it in the kernel (tests/bench/checkpoints.py).
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._base = f"{root}/".replace("//", "/")
        self._folders: dict[str, _Folder] = {}
        self._above_stamps: list[tuple[Path, _Stamp]] = []
        self._above: Sequence[Rules] = []

    @property
    def above(self) -> Sequence[Rules]:
        """The rules from above the root, as of the last scan."""
        return self._above

    def scan(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Give each folder (relative to the root, "" or ending in "/") with the names of what is in it.

        Ignored entries, folders and version control folders are left out; a name may be of a special file, or gone.
        """
        where = surroundings(self._root, self._root)
        old, self._folders = self._folders, {}
        stack: list[tuple[str, Sequence[Rules]]] = [("", self._rules_above(where))]
        while stack:
            path, rules = stack.pop()
            folder = self._folder(path, rules, old.get(path), where)
            if folder is None:
                continue
            self._folders[path] = folder
            stack.extend((below, folder.rules) for below in folder.below)
            yield path, folder.names

    def _rules_above(self, where: Surroundings) -> Sequence[Rules]:
        """Give the rules from above the root; the same object as long as their files are the same."""
        files = [path for path in (where.user_file, where.exclude_file) if path is not None]
        files += [folder / IGNORE_NAME for folder in where.parents]
        stamps = [(path, _stamp(str(path), follow=True)) for path in files]
        if stamps != self._above_stamps:
            self._above_stamps = stamps
            self._above = [
                (layer.rules, 0, _between(layer.folder, self._root))
                for layer in layers_above(where, self._root)
            ]
        return self._above

    def _folder(
        self, path: str, above: Sequence[Rules], known: _Folder | None, where: Surroundings
    ) -> _Folder | None:
        place = self._base + path
        now = time.time_ns()
        stamp = _stamp(place)
        if known is not None and known.stamp == stamp and known.above is above:
            ignore_stamp = known.ignore_stamp
            if ignore_stamp == _GONE or ignore_stamp == _stamp(place + IGNORE_NAME, follow=True):
                return known
        try:
            with os.scandir(place) as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError:
            return None
        return self._listed(path, above, stamp if now - stamp[1] > SETTLED_NS else _GONE, entries, where)

    def _listed(
        self,
        path: str,
        above: Sequence[Rules],
        stamp: _Stamp,
        entries: Sequence[tuple[str, bool]],
        where: Surroundings,
    ) -> _Folder:
        place = self._base + path
        names = {name for name, _ in entries}
        rules, ignore_stamp = above, _GONE
        if path and ".git" in names:
            stamp = _GONE  # what counts anew here lies elsewhere: it is read every time
            rules = [
                (layer.rules, len(path), "") for layer in nested_layers(self._root / path, where.user_file)
            ]
        if IGNORE_NAME in names:
            ignore_stamp = _stamp(place + IGNORE_NAME, follow=True)
            own = read_ignore_file(Path(place + IGNORE_NAME))
            rules = [*rules, (own, len(path), "")] if own else rules
        folder = _Folder(stamp, ignore_stamp, above, rules, [], [])
        for name, is_folder in entries:
            if name in _SKIPPED:
                continue
            shown = f"{name}/" if is_folder else name
            if not (rules and ignored(rules, shown, path + shown)):
                (folder.below if is_folder else folder.names).append(path + shown if is_folder else name)
        return folder


def _stamp(path: str, *, follow: bool = False) -> _Stamp:
    try:
        status = os.stat(path, follow_symlinks=follow)
    except OSError:
        return _GONE
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size


def _between(folder: Path, root: Path) -> str:
    between = root.relative_to(folder).as_posix()
    return "" if between == "." else f"{between}/"


def ignored(rules: Sequence[Rules], name: str, path: str) -> bool:
    """Tell whether rules, the weakest first, ignore an entry; the names of folders end in "/"."""
    for own, cut, above in reversed(rules):
        decision = own.decide(name, above + path[cut:])
        if decision is not None:
            return decision
    return False

"""Says what a command that deletes would take away, before a person allows it."""

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from agent_tui.protocol.permissions import CommandPart, PermissionRequest
from agent_tui.toolkit.text import count

DELETING = frozenset({"rm", "rmdir", "unlink", "shred", "trash"})
MOVING = frozenset({"cd", "pushd", "popd"})
MAX_FILES = 20_000
MAX_SECONDS = 0.2
_NOT_THERE = "nothing of that name is there now"
_NOT_COUNTED = "what it deletes could not be counted"


def deletes(request: PermissionRequest) -> bool:
    """Tell whether a part of the request deletes, which is worth a look at the disk."""
    return any(part.argv and os.path.basename(part.argv[0]) in DELETING for part in request.parts)


def with_losses(
    request: PermissionRequest, cwd: Path, *, clock: Callable[[], float] = time.monotonic
) -> PermissionRequest:
    """Add to each part that deletes what it would delete; reads directories, at most MAX_SECONDS in all.

    A count that leaves something out says "at least". Relative names behind a change of directory are not looked
    up: where they lead is not known.
    """
    deadline = clock() + MAX_SECONDS
    parts: list[CommandPart] = []
    moved = False
    for part in request.parts:
        program = os.path.basename(part.argv[0]) if part.argv else ""
        moved = moved or program in MOVING
        told = _loss(part.argv, cwd, moved, _Tally(deadline, clock)) if program in DELETING else ""
        why = "; ".join(words for words in (part.why, told) if words)
        parts.append(part.model_copy(update={"why": why}) if told else part)
    return request.model_copy(update={"parts": tuple(parts)}) if parts != list(request.parts) else request


@dataclass
class _Tally:
    """What was found so far. `whole` turns False once something was left out."""

    deadline: float
    clock: Callable[[], float]
    files: int = 0
    folders: int = 0
    size_bytes: int = 0
    whole: bool = True
    late: bool = False

    @property
    def is_over(self) -> bool:
        """Tell whether to look no further, which leaves something out."""
        self.late = self.late or self.clock() > self.deadline
        over = self.late or self.files + self.folders >= MAX_FILES
        self.whole = self.whole and not over
        return over

    def words(self) -> str:
        least = "" if self.whole else "at least "
        told = [count(self.files, "file")] if self.files or not self.folders else []
        told += [count(self.folders, "folder")] if self.folders else []
        return f"{least}{', '.join(told)}, {_size(self.size_bytes)}"


def _loss(argv: Sequence[str], cwd: Path, moved: bool, tally: _Tally) -> str:
    looked = missing = 0
    for name in _names(argv[1:], cwd, moved, tally):
        if tally.is_over:
            break
        looked += 1
        try:
            _add(cwd / name, tally)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            missing += 1
        except OSError:
            tally.whole = False
    if tally.files or tally.folders:
        return f"deletes {tally.words()}"
    if tally.late or missing < looked:
        return _NOT_COUNTED
    return _NOT_THERE if looked and tally.whole else ""


def _names(words: Sequence[str], cwd: Path, moved: bool, tally: _Tally) -> Iterator[str]:
    """Give what the operands stand for, as far as it is known before the command runs."""
    for word in _operands(words):
        if set("$`{") & set(word):
            tally.whole = False  # only the shell knows
            continue
        for name in _expanded(os.path.expanduser(word), cwd, tally):
            if moved and not os.path.isabs(name):
                tally.whole = False
                break
            yield name


def _operands(words: Sequence[str]) -> list[str]:
    """Give the words that are no options."""
    if "--" in words:
        at = words.index("--")
        return [word for word in words[:at] if not word.startswith("-")] + list(words[at + 1 :])
    return [word for word in words if not word.startswith("-")]


def _expanded(word: str, cwd: Path, tally: _Tally) -> Iterator[str]:
    """Give the paths that a word stands for, as the shell would, until the time of the tally is over."""
    if not _has_wildcard(word) or os.path.lexists(cwd / word):
        yield word
        return
    waiting = [("/" if word.startswith("/") else "", [part for part in word.split("/") if part])]
    while waiting and not tally.is_over:
        base, parts = waiting.pop()
        if not parts:
            yield base
        elif _has_wildcard(parts[0]):
            waiting += [(name, parts[1:]) for name in _matching(cwd, base, parts, tally)]
        elif os.path.lexists(cwd / base / parts[0]):
            waiting.append((os.path.join(base, parts[0]), parts[1:]))


def _matching(cwd: Path, base: str, parts: Sequence[str], tally: _Tally) -> Iterator[str]:
    """Give what of a folder matches the first of `parts`; only folders when others follow."""
    pattern, hidden = parts[0], parts[0].startswith(".")
    try:
        with os.scandir(cwd / base) as entries:
            for entry in entries:
                if tally.is_over:
                    return
                fits = fnmatchcase(entry.name, pattern) and (hidden or not entry.name.startswith("."))
                if fits and (len(parts) == 1 or entry.is_dir()):
                    yield os.path.join(base, entry.name)
    except OSError:
        return  # a folder that cannot be listed matches nothing for the shell either


def _has_wildcard(word: str) -> bool:
    return bool(set("*?[") & set(word))


def _add(path: Path, tally: _Tally) -> None:
    """Count a path and all below it; links are not followed. Raises OSError and ValueError when it is not there."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        tally.files += 1
        tally.size_bytes += found.st_size
        return
    tally.folders += 1
    waiting = [str(path)]
    while waiting and not tally.is_over:
        try:
            with os.scandir(waiting.pop()) as entries:
                waiting += _counted(entries, tally)
        except OSError:
            tally.whole = False


def _counted(entries: Iterator[os.DirEntry[str]], tally: _Tally) -> list[str]:
    """Count the entries of a folder; give the folders among them. Raises OSError when the list breaks off."""
    folders: list[str] = []
    for entry in entries:
        if tally.is_over:
            break
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            tally.size_bytes += 0 if is_folder else entry.stat(follow_symlinks=False).st_size
        except OSError:
            tally.whole = False
            continue
        tally.folders += is_folder
        tally.files += not is_folder
        folders += [entry.path] if is_folder else []
    return folders


def _size(size_bytes: int) -> str:
    value, unit = float(size_bytes), "bytes"
    for bigger in ("KB", "MB", "GB", "TB"):
        if value < 1_000:
            break
        value, unit = value / 1_000, bigger
    return f"{size_bytes:,} bytes" if unit == "bytes" else f"{value:.1f} {unit}"

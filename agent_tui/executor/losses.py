"""Says what a command that deletes would take away, before a person allows it."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import iglob
from itertools import islice
from pathlib import Path

from agent_tui.protocol.permissions import CommandPart, PermissionRequest
from agent_tui.toolkit.text import count

DELETING = frozenset({"rm", "rmdir", "unlink", "shred", "trash"})
MOVING = frozenset({"cd", "pushd", "popd"})
MAX_FILES = 20_000
MAX_NAMES = 1_000
MAX_SECONDS = 0.2


def deletes(request: PermissionRequest) -> bool:
    """Tell whether a part of the request deletes, which is worth a look at the disk."""
    return any(part.argv and os.path.basename(part.argv[0]) in DELETING for part in request.parts)


def with_losses(request: PermissionRequest, cwd: Path) -> PermissionRequest:
    """Add to each part that deletes what it would delete; reads directories, at most MAX_SECONDS in all.

    Relative names behind a change of directory are not looked up: where they lead is not known.
    """
    deadline = time.monotonic() + MAX_SECONDS
    parts: list[CommandPart] = []
    moved = False
    for part in request.parts:
        program = os.path.basename(part.argv[0]) if part.argv else ""
        moved = moved or program in MOVING
        told = _loss(part.argv, cwd, moved, deadline) if program in DELETING else ""
        why = "; ".join(words for words in (part.why, told) if words)
        parts.append(part.model_copy(update={"why": why}) if told else part)
    return request.model_copy(update={"parts": tuple(parts)}) if parts != list(request.parts) else request


@dataclass
class _Tally:
    files: int = 0
    folders: int = 0
    size_bytes: int = 0
    whole: bool = True

    def words(self) -> str:
        least = "" if self.whole else "more than "
        told = [count(self.files, "file")] if self.files or not self.folders else []
        told += [count(self.folders, "folder")] if self.folders else []
        return f"{least}{', '.join(told)}, {_size(self.size_bytes)}"


def _loss(argv: Sequence[str], cwd: Path, moved: bool, deadline: float) -> str:
    names = [name for word in _operands(argv[1:]) for name in _expanded(word, cwd)]
    known = [name for name in names if not (moved and not os.path.isabs(name))]
    if not known:
        return ""
    tally, missing = _Tally(), 0
    for name in known:
        path = cwd / name
        try:
            found = path.lstat()
        except (OSError, ValueError):
            missing += 1
            continue
        for size_bytes, is_folder in _below(path, found):
            tally.folders += is_folder
            tally.files += not is_folder
            tally.size_bytes += size_bytes
            if tally.files + tally.folders >= MAX_FILES or time.monotonic() > deadline:
                tally.whole = False
                break
    if missing == len(known):
        return "nothing of that name is there now"
    return f"deletes {tally.words()}"


def _operands(words: Sequence[str]) -> list[str]:
    """Give the words that are no options."""
    if "--" in words:
        at = words.index("--")
        return [word for word in words[:at] if not word.startswith("-")] + list(words[at + 1 :])
    return [word for word in words if not word.startswith("-")]


def _expanded(word: str, cwd: Path) -> list[str]:
    """Give the names that a word stands for; none when only the shell knows them."""
    if set("$`{") & set(word):
        return []
    word = os.path.expanduser(word)
    if not set("*?[") & set(word) or os.path.lexists(cwd / word):
        return [word]
    return list(islice(iglob(word, root_dir=cwd), MAX_NAMES))


def _below(path: Path, found: os.stat_result) -> Iterator[tuple[int, bool]]:
    """Give (bytes, is a folder) of a path and of all below it; links are not followed."""
    if not path.is_dir() or path.is_symlink():
        yield found.st_size, False
        return
    yield 0, True
    waiting = [str(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder:
                        waiting.append(entry.path)
                    yield (0 if is_folder else entry.stat(follow_symlinks=False).st_size), is_folder
        except OSError:
            continue


def _size(size_bytes: int) -> str:
    value, unit = float(size_bytes), "bytes"
    for bigger in ("KB", "MB", "GB", "TB"):
        if value < 1_000:
            break
        value, unit = value / 1_000, bigger
    return f"{size_bytes:,} bytes" if unit == "bytes" else f"{value:.1f} {unit}"

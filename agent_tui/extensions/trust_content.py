"""Takes the fingerprint of what a project could make this program do: every file of its configuration folders."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES = (".agent-tui", ".agents", ".claude", ".mcp.json", ".envrc")
MAX_KEPT_BYTES = 262_144
MAX_ENTRIES = 20_000
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One thing in a configuration folder. `kind` is file, folder, link or other.

    `content` is the sha256 of a file, what a link says and the sha256 of the file it leads to, else "".
    """

    kind: str
    content: str = ""


@dataclass(frozen=True)
class Content:
    """The configuration of a project: entries by path relative to it, with `/` and perhaps leading `..`."""

    workspace: Path
    entries: Mapping[str, Entry]

    @property
    def digest(self) -> str:
        """The sha256 over path, kind and content of all entries; one for nothing at all as well."""
        summed = hashlib.sha256()
        for path, entry in sorted(self.entries.items()):
            for word in (path, entry.kind, entry.content):
                summed.update(os.fsencode(word) + b"\0")
        return summed.hexdigest()

    def path(self, name: str) -> Path:
        """Give where an entry lies."""
        return self.workspace / name


class TooMuch(ValueError):
    """The configuration folders hold more entries than anybody could review."""


def project_content(workspace: Path, *, home: Path) -> Content:
    """Read the configuration of `workspace` and of what is above it as far as its git root, but not of `home`.

    Links are followed, so that a change behind one is seen. Raises TooMuch, and OSError when a file that is there
    cannot be read.
    """
    entries: dict[str, Entry] = {}
    for place in _places(workspace, home):
        for name in NAMES:
            top = place / name
            if os.path.lexists(top):
                for path, entry in _walk(top, frozenset()):
                    entries[os.path.relpath(path, workspace)] = entry
                    if len(entries) > MAX_ENTRIES:
                        raise TooMuch(f"{top} holds more than {MAX_ENTRIES:,} files")
    return Content(workspace, entries)


def _places(workspace: Path, home: Path) -> list[Path]:
    above = (workspace, *workspace.parents)
    root = next((place for place in above if (place / ".git").exists()), workspace)
    return [place for place in above if place.is_relative_to(root) and (place == workspace or place != home)]


def _walk(path: Path, seen: frozenset[str]) -> Iterator[tuple[Path, Entry]]:
    """Give `path` and what lies below; `seen` are the real folders on the way, against circles."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        said = os.readlink(path)
        yield path, Entry("link", f"{said} {_sum(path) if path.is_file() else ''}")
        if not path.is_dir():
            return
    elif stat.S_ISREG(status.st_mode):
        yield path, Entry("file", _sum(path))
        return
    elif stat.S_ISDIR(status.st_mode):
        yield path, Entry("folder")
    else:
        yield path, Entry("other")
        return
    real = os.path.realpath(path)
    if real in seen:
        return
    for child in sorted(path.iterdir()):
        yield from _walk(child, seen | {real})


def _sum(path: Path) -> str:
    summed = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            summed.update(chunk)
    return summed.hexdigest()

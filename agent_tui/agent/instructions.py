"""Instruction files: AGENTS.md and its kin from the git root down, with imports, each once, within 32 KiB."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md")
LIMIT_BYTES = 32 * 1024
MAX_IMPORT_DEPTH = 5
_MAX_FILE_BYTES = 256 * 1024
_SUFFIXES = frozenset({".md", ".mdc", ".markdown", ".txt", ".rst", ""})
_IMPORT = re.compile(r"(?<![\w`/@.])@((?:~/|\.{0,2}/)?[\w][\w./-]*[\w])")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True)
class InstructionFile:
    """One file's text, as far as it fits. `path` is real."""

    path: Path
    text: str


@dataclass
class Instructions:
    """What was loaded, general first, nearest last. `notices` are sentences for the person."""

    root: Path
    files: list[InstructionFile] = field(default_factory=list[InstructionFile])
    notices: list[str] = field(default_factory=list[str])
    seen: set[Path] = field(default_factory=set[Path])

    @property
    def text(self) -> str:
        """All files, each in a tag that names it; "" when there is none."""
        return "\n\n".join(tagged(file, self.root) for file in self.files)

    def nested(self, path: Path) -> list[InstructionFile]:
        """Load the instruction files between the root and `path` that were not loaded yet, for lazy use."""
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_relative_to(self.root):
            return []
        new = [file for place in _folders(self.root, folder) for file in self.load_folder(place)]
        self.files.extend(new)
        return new

    def load_folder(self, folder: Path) -> Iterator[InstructionFile]:
        """Load the instruction files of one folder."""
        for name in NAMES:
            yield from self.load(folder / name, within=self.root)

    def load(self, path: Path, *, within: Path, depth: int = 0) -> Iterator[InstructionFile]:
        """Load a file and then what it imports; nothing that was loaded before or lies outside `within`."""
        real = Path(os.path.realpath(path))
        if real in self.seen:
            return
        text = _read(real)
        if text is None:
            return
        if not real.is_relative_to(within):
            self.notices.append(f"{path} was not loaded: it leads out of {within}.")
            return
        self.seen.add(real)
        if text.strip():
            yield InstructionFile(real, text.strip())
        for imported in imports_of(text):
            if depth >= MAX_IMPORT_DEPTH:
                self.notices.append(f"@{imported} in {path} was not loaded: imports are too deep.")
                continue
            target = Path(os.path.expanduser(imported))
            target = target if target.is_absolute() else real.parent / target
            if target.suffix in _SUFFIXES:
                yield from self.load(target, within=within, depth=depth + 1)


def load_instructions(cwd: Path, *, user_files: Sequence[Path] = ()) -> Instructions:
    """Load the user's files, then those from the git root (or `cwd` without one) down to `cwd`.

    Together they get 32 KiB; when they are larger the nearest files win, and what was cut is said in the text and in
    `notices`. A project's file may import only files of the project, a user's only files of its own folder.
    """
    here = Path(os.path.realpath(cwd))
    root = git_root(here) or here
    loaded = Instructions(root)
    for path in user_files:
        loaded.files.extend(loaded.load(path, within=Path(os.path.realpath(path)).parent))
    for folder in _folders(root, here):
        loaded.files.extend(loaded.load_folder(folder))
    _fit(loaded)
    return loaded


def git_root(folder: Path) -> Path | None:
    """Find the work tree that holds `folder` by its .git entry, without running git."""
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return None


def imports_of(text: str) -> list[str]:
    """List the paths after @ outside of code, in order, each once."""
    return list(dict.fromkeys(_IMPORT.findall(_CODE.sub(" ", text))))


def tagged(file: InstructionFile, root: Path) -> str:
    """Give a file's text in a tag that names it."""
    name = file.path.relative_to(root) if file.path.is_relative_to(root) else file.path
    return f'<instructions file="{name}">\n{file.text}\n</instructions>'


def _fit(loaded: Instructions) -> None:
    room = LIMIT_BYTES
    fitted: list[InstructionFile] = []
    for file in reversed(loaded.files):
        data = file.text.encode()
        if len(data) > room:
            kept = data[:room].decode("utf-8", "ignore")
            kept = kept[: kept.rfind("\n") + 1]
            cut = len(data) - len(kept.encode())
            loaded.notices.append(
                f"{file.path} was cut by {cut:,} bytes: instruction files share {LIMIT_BYTES:,} bytes."
            )
            file = InstructionFile(
                file.path, f"{kept}[{cut:,} bytes left out: instruction files are too long]"
            )
            room = 0
        else:
            room -= len(data)
        fitted.append(file)
    loaded.files = fitted[::-1]


def _folders(root: Path, folder: Path) -> list[Path]:
    below = folder.relative_to(root).parts
    return [root.joinpath(*below[:count]) for count in range(len(below) + 1)]


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        try:
            return file.read(_MAX_FILE_BYTES).decode("utf-8-sig", "replace")
        except OSError:
            return None

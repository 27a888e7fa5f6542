"""Facts of the machine that decide what a command means: where paths lead, what a name runs, what a tree holds."""

import glob
import os
import re
from dataclasses import dataclass, field
from itertools import islice

from agent_tui.permissions.paths import is_inside, is_secret
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import NotStatic, Word

MAX_MATCHES = 2_000
MAX_ENTRIES = 60_000
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".agignore")
_MAX_IGNORE_CHARS = 1_000_000
_OPEN_DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@dataclass(frozen=True, slots=True)
class Place:
    """A path as named (made absolute, `..` taken as text) and where it really leads."""

    named: str
    real: str

    @property
    def spellings(self) -> tuple[str, ...]:
        """Both, once each."""
        return (self.named,) if self.named == self.real else (self.named, self.real)


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """What lies below a directory: files that may hold secrets (those under a dotted name apart), the links
    that lead out of the project, the first name that could be read as an option or as two; `brought_back` are the
    last parts of the lines `!PATTERN` of ignore files, those above included; `too_big` ends the search."""

    secrets: tuple[str, ...] = ()
    hidden_secrets: tuple[str, ...] = ()
    links_out: tuple[str, ...] = ()
    odd_name: str = ""
    brought_back: tuple[str, ...] = ()
    too_big: bool = False


@dataclass
class World:
    """One project on one machine. `project` is its real path; `search_path` is PATH as commands get it."""

    project: str
    home: str
    search_path: str
    has_cdpath: bool = False
    _trees: dict[str, TreeFacts] = field(default_factory=dict[str, TreeFacts])

    def place(self, text: str, cwd: str) -> Place:
        """Give where a path word leads from `cwd` (absolute)."""
        joined = os.path.join(cwd, text.replace("\0", "\ufffd"))
        return Place(os.path.normpath(joined).replace("//", "/", 1), os.path.realpath(joined))

    def entry(self, text: str, cwd: str) -> Place:
        """Give where a directory entry stands, a link at its end not followed (`rm link` removes the link)."""
        if text.endswith(("/", "/.", "/..")) or text in (".", ".."):
            return self.place(text, cwd)
        text = text.replace("\0", "\ufffd")
        named = self.place(text, cwd).named
        folder, _, name = named.rpartition("/")
        return Place(
            named, os.path.join(os.path.realpath(os.path.dirname(os.path.join(cwd, text)) or folder), name)
        )

    def contains(self, place: Place) -> bool:
        """Tell whether a path lies in the project and does not lead out of it."""
        return is_inside(place.real, self.project)

    def is_open(self, place: Place) -> bool:
        """Tell whether it is a device that everybody may use."""
        return place.named in _OPEN_DEVICES

    def expand(self, word: Word, cwd: str) -> list[Word]:
        """Give the words that bash makes of a wildcard; the word itself when nothing matches.

        Raises NotStatic when the pattern is beyond what is matched here or matches too much.
        """
        if not word.glob:
            return [word]
        if "[^" in word.glob or "[:" in word.glob or "[." in word.glob or "[=" in word.glob:
            raise NotStatic("a wildcard that is not understood")
        outer = self.place(re.split(r"[*?\[]", word.glob, maxsplit=1)[0] or ".", cwd)
        if not self.contains(outer) and not is_inside(self.project, outer.named):
            return [word]
        found = list(islice(glob.iglob(word.glob, root_dir=cwd), MAX_MATCHES + 1))
        if len(found) > MAX_MATCHES:
            raise NotStatic("a wildcard that matches too many files")
        return [Word(name, word.raw) for name in sorted(found)] or [word]

    def runs_from_project(self, program: str, cwd: str) -> str:
        """Say where a bare name would be found inside the project or a directory relative to it; "" elsewhere."""
        for folder in self.search_path.split(os.pathsep):
            place = self.place(os.path.join(folder or ".", program), cwd)
            if not os.path.isfile(place.named):
                continue
            is_theirs = folder in ("", ".") or not os.path.isabs(folder)
            return (
                place.named
                if is_theirs or self.contains(place) or is_inside(place.named, self.project)
                else ""
            )
        return ""

    def shim(self, program: str) -> str:
        """Give the stand-in that a name finds, which chooses what it runs by files of the project; "" for none."""
        for folder in self.search_path.split(os.pathsep):
            path = os.path.join(folder, program)
            if not os.path.isfile(path):
                continue
            real = os.path.realpath(path)
            named = os.path.basename(real) in words_of("programs.txt", "shims")
            held = any(
                os.path.dirname(where).endswith(f"/{name}")
                for where in (path, real)
                for name in words_of("programs.txt", "shim folders")
            )
            return path if named or held else ""
        return ""

    def facts(self, root: str) -> TreeFacts:
        """Look through a directory of the project once."""
        if root not in self._trees:
            self._trees[root] = self._look(root)
        return self._trees[root]

    def _look(self, root: str) -> TreeFacts:
        secrets: list[str] = []
        hidden: list[str] = []
        links_out: list[str] = []
        odd = ""
        ignores = _ignore_files_above(root)
        count = 0
        pending = [(root, False)]
        while pending:
            folder, is_hidden = pending.pop()
            for entry in _entries(folder):
                count += 1
                if count > MAX_ENTRIES:
                    return TreeFacts(tuple(secrets), tuple(hidden), tuple(links_out), odd, too_big=True)
                dotted = is_hidden or entry.name.startswith(".")
                if entry.is_symlink():
                    links_out.extend(self._leads_out(entry))
                    if is_secret(os.path.realpath(entry.path)):
                        secrets.append(entry.path)
                elif entry.name in _IGNORE_FILES:
                    ignores.append(entry.path)
                elif entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, dotted))
                if is_secret(entry.path):
                    (hidden if dotted else secrets).append(entry.path)
                if not odd and (entry.name.startswith("-") or re.search(r"[\s'\"\\]", entry.name)):
                    odd = entry.path
        back = tuple(pattern for path in ignores for pattern in _brought_back(path))
        return TreeFacts(tuple(secrets), tuple(hidden), tuple(links_out), odd, back)

    def _leads_out(self, entry: "os.DirEntry[str]") -> list[str]:
        real = os.path.realpath(entry.path)
        return [] if is_inside(real, self.project) else [entry.path]

    def git_root(self, folder: str) -> str:
        """Give the nearest directory from `folder` up that holds `.git`; "" when there is none."""
        while True:
            if os.path.lexists(os.path.join(folder, ".git")):
                return folder
            if folder == "/":
                return ""
            folder = os.path.dirname(folder)

    def looks_like_bare_repository(self, folder: str) -> bool:
        """Tell whether git would take `folder`, or one above it in the project, for a repository of its own."""
        while is_inside(folder, self.project):
            if all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
                return True
            folder = os.path.dirname(folder)
        return False


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _ignore_files_above(folder: str) -> list[str]:
    found: list[str] = []
    while folder != "/":
        found.append(os.path.join(folder, ".git/info/exclude"))
        folder = os.path.dirname(folder)
        found.extend(os.path.join(folder, name) for name in _IGNORE_FILES)
    return found


def _brought_back(path: str) -> list[str]:
    """Give the last part of every pattern that an ignore file brings back; none for one that cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_IGNORE_CHARS).split("\n")
    except OSError:
        return []
    patterns = [line[1:].strip().rstrip("/") for line in lines if line.startswith("!")]
    return [pattern.rpartition("/")[2] for pattern in patterns]

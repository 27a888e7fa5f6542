"""Which files git would ignore: ignore files from the user's down to the folder of the file."""

import codecs
import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

IGNORE_NAME = ".gitignore"
IGNORE_LIMIT_BYTES = 1 << 20
_CONFIG_LINE = re.compile(r"^\s*excludesfile\s*=\s*(.+?)\s*$", re.IGNORECASE)
_CONFIG_SECTION = re.compile(r"^\s*\[\s*([^\]\s\"]+)")
_TAIL = re.compile(r"[ \t]+$")  # git strips blanks at the end, but no tab and nothing before one
_POSIX_CLASSES = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:space:]": " \t\r\n\v\f",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9A-Fa-f",
}


@dataclass(frozen=True)
class _Rule:
    """One line. `name_only` rules look at the last component, at any depth."""

    expression: re.Pattern[str]
    ignores: bool
    name_only: bool


class IgnoreFile:
    """The rules of one ignore file, its bytes read as Latin-1; the last one that matches decides."""

    def __init__(self, text: str) -> None:
        self._rules = [rule for line in text.split("\n") if (rule := _rule(line))]
        # Most entries match nothing: two expressions rule that out without looking at each line.
        self._any_name = _alternatives(rule for rule in self._rules if rule.name_only)
        self._any_path = _alternatives(rule for rule in self._rules if not rule.name_only)

    def decide(self, name: str, path: str) -> bool | None:
        """Tell whether the entry is ignored, None when no rule speaks of it.

        `path` is relative to the folder of the ignore file; `name` is its last component. A directory's end in "/".
        """
        name, path = _as_bytes(name), _as_bytes(path)
        by_name = self._any_name is not None and self._any_name.fullmatch(name)
        by_path = self._any_path is not None and self._any_path.fullmatch(path)
        if not by_name and not by_path:
            return None
        for rule in reversed(self._rules):
            if rule.expression.fullmatch(name if rule.name_only else path):
                return rule.ignores
        return None


def _as_bytes(path: str) -> str:
    """Give one character a byte: to git, `?` and `[!a]` are about bytes."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _rule(line: str) -> _Rule | None:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # 31 modules, for the first search

    line = _TAIL.sub(lambda found: found[0].replace("\t", "[\t]"), line.removesuffix("\r"))
    for posix, plain in _POSIX_CLASSES.items():
        line = line.replace(posix, plain)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            pattern = GitIgnoreSpecPattern(line)
    except (ValueError, re.error):
        return None  # git lets such a line match nothing
    # pathspec's type leaves open whether the expression is about text
    compiled = cast("re.Pattern[str] | None", pattern.regex)  # pyright: ignore[reportUnknownMemberType] - as said above
    if pattern.include is None or compiled is None:
        return None
    core = line.removeprefix("!").rstrip()
    name_only = "/" not in core.rstrip("/")
    return _Rule(re.compile(_whole(core, compiled.pattern), re.DOTALL), pattern.include, name_only)


def _whole(line: str, expression: str) -> str:
    """Turn pathspec's expression, which also matches what is below a match, into one for the entry alone."""
    expression = expression.replace("(?P<ps_d>/)", "/")
    if expression == ".":
        return ".+"
    if expression == "/":
        return ".+/"
    if line.endswith("/**/"):
        return f"{expression}.+/"
    if line.endswith("/**"):
        return f"{expression}.+"
    return expression.replace("(?:/|$)", "/?")


def _alternatives(rules: Iterable[_Rule]) -> re.Pattern[str] | None:
    sources = [rule.expression.pattern for rule in rules]
    return re.compile("|".join(f"(?:{source})" for source in sources), re.DOTALL) if sources else None


def read_ignore_file(path: Path) -> IgnoreFile | None:
    """Read an ignore file, None when there is none that can be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(IGNORE_LIMIT_BYTES)
    except OSError:
        return None
    return IgnoreFile(data.removeprefix(codecs.BOM_UTF8).decode("latin-1"))


@dataclass(frozen=True)
class Layer:
    """An ignore file with the folder it speaks about (a real path)."""

    folder: Path
    rules: IgnoreFile


@dataclass(frozen=True)
class Surroundings:
    """What stands above a folder that is searched.

    `git_root` is the work tree it lies in. `user_file` is the user's core.excludesFile, `exclude_file` the work
    tree's info/exclude; they need not exist. `parents` are the folders above whose ignore files count, outermost first.
    """

    git_root: Path | None
    user_file: Path | None
    exclude_file: Path | None
    parents: tuple[Path, ...]


def surroundings(base: Path, workspace: Path) -> Surroundings:
    """Find what ignore files above the real path `base` count.

    Without git these are the ignore files of the workspace and below, when `base` lies in it.
    """
    root = next((folder for folder in (base, *base.parents) if (folder / ".git").exists()), None)
    top = root or (workspace if base.is_relative_to(workspace) else base)
    above = [folder for folder in base.parents if folder.is_relative_to(top)]
    git_dir = _common_git_dir(root) if root else None
    return Surroundings(
        git_root=root,
        user_file=_user_file(git_dir),
        exclude_file=git_dir / "info" / "exclude" if git_dir else None,
        parents=tuple(reversed(above)),
    )


def layers_above(where: Surroundings, base: Path) -> list[Layer]:
    """Read the ignore files above `base`, weakest first."""
    top = where.git_root or base
    candidates = [(top, where.user_file), (top, where.exclude_file)]
    candidates += [(folder, folder / IGNORE_NAME) for folder in where.parents]
    return [
        Layer(folder, rules)
        for folder, path in candidates
        if path is not None and (rules := read_ignore_file(path)) is not None
    ]


def nested_layers(folder: Path, user_file: Path | None) -> list[Layer]:
    """Read what counts anew at the root of another work tree: the user's file and its info/exclude."""
    git_dir = _common_git_dir(folder)
    paths = (user_file, git_dir / "info" / "exclude" if git_dir else None)
    return [Layer(folder, rules) for path in paths if path and (rules := read_ignore_file(path)) is not None]


def _common_git_dir(root: Path) -> Path | None:
    """Find the directory that holds info/exclude and config, also of a linked work tree."""
    dot_git = root / ".git"
    if dot_git.is_dir():
        return dot_git
    try:
        linked = dot_git.read_text("utf-8", "replace")[:4096].strip()
        git_dir = root / linked.removeprefix("gitdir:").strip()
        common = git_dir / "commondir"
        return git_dir / common.read_text("utf-8", "replace")[:4096].strip() if common.is_file() else git_dir
    except (OSError, ValueError):
        return None


def _user_file(git_dir: Path | None) -> Path | None:
    """Find core.excludesFile in the files git reads, strongest first; else git's default place."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    for path in (git_dir / "config" if git_dir else None, home / ".gitconfig", config / "config"):
        value = _excludes_file(path) if path else ""
        if value.startswith("~/"):
            return home / value[2:]
        if value:
            return Path(value) if value.startswith("/") or git_dir is None else git_dir.parent / value
    return config / "ignore"


def _excludes_file(path: Path) -> str:
    """Give the value of core.excludesFile in one configuration file, "" when it has none."""
    try:
        lines = path.read_text("utf-8", "replace")[:IGNORE_LIMIT_BYTES].splitlines() if path.is_file() else []
    except OSError:
        return ""
    section, value = "", ""
    for line in lines:
        if found := _CONFIG_SECTION.match(line):
            section = found[1].lower()
        elif section == "core" and (found := _CONFIG_LINE.match(line)):
            value = found[1].strip('"')
    return value

"""Reads git's configuration for what it leads to: hooks folders, included files, a second configuration."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]")
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|([^\"#;]+)")
_MAX_BYTES = 65_536
_MAX_FILES = 20


@dataclass(frozen=True)
class Named:
    """What configuration names: hooks folders as written, included files, whether worktrees have their own."""

    hooks: tuple[str, ...] = ()
    included: tuple[Path, ...] = ()
    per_worktree: bool = False


def named_in_config(folder: Path, home: Path | None = None) -> Named:
    """Read the configuration of a git directory with what it includes, and that of the user and the machine.

    A hooks folder that the user's own configuration names relatively is one of every repository.
    """
    files = [folder / "config", folder / "config.worktree", Path("/etc/gitconfig")]
    if home is not None:
        files += [home / ".gitconfig", home / ".config/git/config"]
    hooks: dict[str, None] = {}
    included: dict[Path, None] = {}
    per_worktree = False
    waiting, seen = list(files), set[Path]()
    while waiting and len(seen) < _MAX_FILES:
        file = waiting.pop(0)
        if file in seen:
            continue
        seen.add(file)
        for section, key, value in _settings(_text(file)):
            if (section, key) == ("core", "hookspath"):
                hooks[value] = None
            elif section in ("include", "includeif") and key == "path":
                path = (file.parent / _expanded(value, home)).resolve()
                included[path] = None
                waiting.append(path)
            elif (section, key) == ("extensions", "worktreeconfig"):
                per_worktree = value.lower() in ("true", "yes", "on", "1")
    return Named(tuple(hooks), tuple(included), per_worktree)


def hooks_folders(named: Named, bases: Sequence[Path]) -> list[Path]:
    """Give the hooks folders: relative ones stand in each work tree of `bases`."""
    return [(base / value).resolve() for value in named.hooks for base in bases if value and value[0] != "~"]


def _expanded(value: str, home: Path | None) -> str:
    return f"{home}{value[1:]}" if home is not None and value.startswith("~/") else value


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Give (section, key, value), names in lower case; a setting may stand on the line of its section."""
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        rest = line
        while header := _SECTION.match(rest):
            section, rest = header[1].lower(), rest[header.end() :]
        if setting := _SETTING.match(rest):
            yield section, setting[1].lower(), _value(setting[2])


def _value(text: str) -> str:
    """Take quotes and a comment off a value."""
    out: list[str] = []
    at = 0
    while match := _QUOTED.match(text, at):
        out.append(re.sub(r"\\(.)", r"\1", match[1]) if match[1] is not None else match[2])
        at = match.end()
    return "".join(out).strip()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""

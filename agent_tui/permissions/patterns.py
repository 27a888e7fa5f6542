"""Compares path and command patterns of rules with what a call touches."""

import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.permissions.paths import folded, is_inside, same_file

PathTest = Callable[[str], bool]


def quoted_star(text: str) -> str:
    """Give `text` as a pattern that matches only itself."""
    return text.replace("\\", "\\\\").replace("*", "\\*")


def has_wildcard(pattern: str) -> bool:
    """Tell whether a command pattern holds a `*` that is not escaped."""
    return re.search(r"(?<!\\)(\\\\)*\*", pattern) is not None


def command_regex(pattern: str) -> re.Pattern[str]:
    """Compile a command pattern: `*` matches anything, ` *` at the end is a word boundary, `\\*` is a star."""
    body, tail = (pattern[:-2], r"(\s.*)?") if _ends_in_word(pattern) else (pattern, "")
    pieces = re.split(r"(\\[\\*]|\*)", body)
    out = [".*" if piece == "*" else re.escape(_unescaped(piece)) for piece in pieces]
    return re.compile("".join(out) + tail, re.DOTALL)


def _unescaped(text: str) -> str:
    """Undo `quoted_star`: only a backslash before a star or a backslash is an escape."""
    return re.sub(r"\\([\\*])", r"\1", text)


def _ends_in_word(pattern: str) -> bool:
    return pattern.endswith(" *") and not pattern.endswith("\\ *") and len(pattern) > 2


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """A compiled `Bash(...)` specifier. An exact one also matches by words, whatever their quoting."""

    text: str
    wild: bool
    regex: re.Pattern[str]
    words: tuple[str, ...] | None

    def matches(self, text: str, argv: Sequence[str], *, fold: bool = False) -> bool:
        """Tell whether one spelling of a simple command is meant; `fold` ignores case."""
        if fold:
            return self._matches_folded(text)
        if self.regex.fullmatch(text) is not None:
            return True
        return not self.wild and self.words is not None and bool(argv) and tuple(argv) == self.words

    def _matches_folded(self, text: str) -> bool:
        return re.compile(self.regex.pattern, re.DOTALL | re.IGNORECASE).fullmatch(text) is not None


def compile_command(specifier: str) -> CommandPattern:
    """Compile the specifier of a `Bash` rule."""
    wild = has_wildcard(specifier)
    try:
        words = None if wild else tuple(shlex.split(_unescaped(specifier)))
    except ValueError:
        words = None
    return CommandPattern(specifier, wild, command_regex(specifier), words)


def host_matches(pattern: str, host: str) -> bool:
    """Compare a host with `example.com`, `*.example.com` (it and all below) or `*`."""
    host = host.lower().rstrip(".")
    if pattern.startswith("*."):
        return host == pattern[2:] or host.endswith(pattern[1:])
    return pattern in ("*", host)


@dataclass
class PathPatterns:
    """Compiles path patterns for one project.

    `//x` is absolute, `~/x` below home, `/x` relative to `base`, `x` relative to the project as in .gitignore.
    With `ignores_case` names are compared without case and Unicode form.
    """

    project: str
    home: str
    ignores_case: bool = False
    _compiled: dict[tuple[str, str, bool], PathTest] = field(
        default_factory=dict[tuple[str, str, bool], PathTest]
    )

    def matches(self, pattern: str, path: str, *, base: Path, loose: bool = False) -> bool:
        """Tell whether `path` (absolute, normal) is meant. `loose` also lets Unicode forms and one inode match."""
        key = (pattern, str(base), loose)
        if key not in self._compiled:
            self._compiled[key] = self._compile(pattern, str(base), loose)
        return self._compiled[key](path)

    def anchored(self, pattern: str, base: str) -> tuple[str, str]:
        """Split a pattern into the folder it is relative to and a gitignore line."""
        if pattern.startswith("//"):
            return "/", pattern[1:]
        if pattern == "~" or pattern.startswith("~/"):
            return self.home, f"/{pattern[2:]}" if len(pattern) > 2 else "/**"
        if pattern.startswith("/"):
            return base, pattern
        return self.project, pattern[1:] if pattern.startswith("./") else pattern

    def _compile(self, pattern: str, base: str, loose: bool) -> PathTest:
        # pathspec costs 20 ms of CPU, which most answers of `permissions check` need not pay.
        from pathspec import GitIgnoreSpec

        root, line = self.anchored(pattern, base)
        spell = self._spelling(loose)
        spec = GitIgnoreSpec.from_lines([spell(_unnegated(line))])
        whole = f"{root.rstrip('/')}{line[:-3]}" if line.startswith("/") and line.endswith("/**") else ""
        is_plain = loose and not re.search(r"[*?\[\\]", line)
        exact = f"{root.rstrip('/')}/{line.lstrip('/')}" if is_plain else ""

        def test(path: str) -> bool:
            if exact and same_file(path, exact):
                return True
            if whole and spell(path) == spell(whole or "/"):
                return True
            if not is_inside(spell(path), spell(root)) or path == root:
                return False
            below = spell(path)[len(spell(root).rstrip("/")) + 1 :]
            return spec.match_file(below) or spec.match_file(f"{below}/")

        return test

    def _spelling(self, loose: bool) -> Callable[[str], str]:
        if self.ignores_case:
            return folded
        return _composed if loose else str


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _unnegated(line: str) -> str:
    return f"\\{line}" if line.startswith(("#", "!")) else line


def path_pattern(path: str, *, project: str) -> str:
    """Give the specifier that means exactly `path`: `/x` below the project, `//x` elsewhere."""
    literal = re.sub(r"([*?\[\]\\])", r"\\\1", path)
    if path != project and is_inside(path, project):
        return literal[len(re.sub(r"([*?\[\]\\])", r"\\\1", project)) :]
    return f"/{literal}"

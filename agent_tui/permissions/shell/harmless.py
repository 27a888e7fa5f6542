"""Decides whether a command only reads, and what it reads."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.permissions.paths import is_inside
from agent_tui.permissions.shell.git import check_git, split_global
from agent_tui.permissions.shell.git_index import tracked
from agent_tui.permissions.shell.options import Operand, Use, file_values, parse_spec, read_use
from agent_tui.permissions.shell.readers import readers, versioned
from agent_tui.permissions.shell.script import Simple
from agent_tui.permissions.shell.special import BUILTINS, CHECKS, HARMLESS, Reading, check_lookup, refuse
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import Word
from agent_tui.permissions.shell.world import World
from agent_tui.permissions.shell.wrappers import Unwrapped, unwrap

_PROGRAM = re.compile(r"[A-Za-z0-9_+.\-\[:]+")
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg", "ag"})
_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/")
# No program here can be turned into something else by a file name that looks like an option.
_FED_BY_NAMES = frozenset(
    [
        "cat",
        "wc",
        "grep",
        "head",
        "tail",
        "ls",
        "stat",
        "file",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "basename",
        "dirname",
        "echo",
        "du",
        "cut",
        "nl",
    ]
)


# Filters that let whole lines of their input through, and with which options.
_KEEPS_NAMES = {
    "sort": "-rufVnz | none",
    "head": "-# -n= | none",
    "tail": "-# -n= | none",
    "uniq": "-du | none",
    "grep": "-viEFwx | text >=1 <=1",
}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./+=,~%^#-]*")
_MOST_TRACKED = 2_000
_ONLY_BUILTINS = frozenset({"cd", "help", "history", "alias"})


class Harmless:
    """Judges commands by what is known of programs that only read."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reading(self, inner: Unwrapped, cwd: str, upstream: Simple | None) -> Reading:
        """Say what a harmless command reads, or why it is not known to be harmless."""
        words = inner.words
        name = words[0].text
        if not all(word.static for word in words):
            return refuse("not all words are known")
        program = self._known_name(name)
        if program == "":
            return refuse("a program that is not called by its plain name")
        is_builtin = program in BUILTINS and inner.in_shell
        for runs in (*inner.found, *(() if is_builtin else (program,))):
            if found := self._world.runs_from_project(runs, cwd):
                return refuse(f"{runs} would be run from {found}")
        if not is_builtin and (shim := self._world.shim(name)):
            return refuse(f"{shim} runs whichever program a file of the project chooses")
        if listed := _options_file(program, words[1:]):
            return refuse(f"{program} may read its options from {listed}")
        if program in _ONLY_BUILTINS and not inner.in_shell:
            return refuse(f"{program} by a program")
        if program == "cd":
            return HARMLESS
        if program == "command":
            return (
                check_lookup(words[1:])
                if len(words) > 2 and words[1].text in ("-v", "-V")
                else refuse("options of command")
            )
        if len(words) == 2 and words[1].text in versioned().get(program, ()):
            return HARMLESS
        if program == "git":
            return check_git(words[1:], self._world, cwd)
        if program == "xargs":
            return self._xargs(words, cwd, upstream)
        if program in CHECKS:
            return CHECKS[program](words[1:])
        if program in readers():
            return self._by_spec(program, words[1:])
        return refuse(f"{program} is not known to only read")

    def _known_name(self, name: str) -> str:
        """Give the program that a name means: a plain name, or one in /bin or /usr/bin."""
        for folder in _SYSTEM_FOLDERS:
            if name.startswith(folder) and "/" not in name[len(folder) :]:
                name = name[len(folder) :]
        return name if _PROGRAM.fullmatch(name) else ""

    def _by_spec(self, program: str, words: Sequence[Word]) -> Reading:
        spec = readers()[program]
        use = read_use(spec, tuple(words))
        if use.refused:
            return refuse(f"{program}: {use.refused} is not known to be harmless")
        has_pattern = use.has("-e", "-f", "--regexp", "--file", "--files", "--type-list")
        if program in _SEARCHES and has_pattern:
            spec = replace(spec, first=None)
        paths = list(file_values(spec, use))
        if program in _SEARCHES:
            return _search(program, use, paths)
        return Reading(tuple(paths), follows_links=program in ("diff", "colordiff"))

    def _xargs(self, words: Sequence[Word], cwd: str, upstream: Simple | None) -> Reading:
        """Judge `find src ... | xargs wc -l`: the names come from a search below the project."""
        use_end = 1
        while use_end < len(words) and re.fullmatch(
            r"-0|-r|-n\d+|-P\d+|-L\d+|--null|--no-run-if-empty", words[use_end].text
        ):
            use_end += 1
        inner = words[use_end:]
        if not inner or inner[0].text not in _FED_BY_NAMES or upstream is None:
            return refuse("xargs runs what it reads")
        fed = self._fed_from(upstream, cwd)
        if fed is None:
            return refuse("xargs runs a program on names that are not known")
        reading = self.reading(Unwrapped(tuple(inner), (), False), cwd, None)
        if reading.refused:
            return reading
        kind = (
            Operand.NAME if inner[0].text in ("ls", "stat", "basename", "dirname", "echo") else Operand.TREE
        )
        named = [(path, k) for path, k in reading.paths if path.text != "."]
        searches_below = any(k is Operand.TREE for _, k in reading.paths)
        return Reading(
            (*named, *((path, kind if kind is Operand.NAME else k) for path, k in fed.paths)),
            follows_links=True,
            only=() if searches_below else fed.only,
        )

    def _fed_from(self, upstream: Simple, cwd: str) -> Reading | None:
        """Give the directories whose file names a command prints; None when names could be anything."""
        words = unwrap(upstream.words).words
        if words and words[0].text == "git" and not upstream.redirects_input:
            return (
                None if self.reading(Unwrapped(words), cwd, None).refused else self._tracked(words[1:], cwd)
            )
        if not words or words[0].text not in ("find", "rg", "grep", "fd") or upstream.redirects_input:
            return None
        reading = self.reading(Unwrapped(words), cwd, None)
        if reading.refused:
            return None
        lists = {"-l", "-rl", "-lr", "--files-with-matches", "--files", "-rln", "-lrn", "-ril", "-rli"}
        if words[0].text in ("rg", "grep") and not any(word.text in lists for word in words):
            return None
        if any(
            word.text in ("-printf", "-ls", "--format", "-s", "--stage", "-n", "-c") for word in words[1:]
        ):
            return None
        roots = [path for path, kind in reading.paths if kind is not Operand.NONE] or [Word(".", ".")]
        only = reading.only if words[0].text == "find" else ()
        for root in roots:
            place = self._world.place(root.text, cwd)
            if not self._world.contains(place) or self._world.facts(place.real).odd_name:
                return None
        return Reading(tuple((root, Operand.TREE) for root in roots), only=only)

    def _tracked(self, words: Sequence[Word], cwd: str) -> Reading | None:
        """Give the files that a plain `git ls-files` may name, each of them looked at by itself."""
        texts = [word.text for word in split_global(words)[1]]
        plain = all(not t.startswith("-") or t in ("-c", "--cached", "--") for t in texts)
        if (
            texts[:1] != ["ls-files"]
            or not plain
            or any(t.startswith(("/", "..", ":")) or "/.." in t for t in texts)
        ):
            return None
        root = self._world.git_root(cwd)
        names = tracked(root, _MOST_TRACKED)
        if names is None or not self._world.contains(self._world.place(root, "/")):
            return None
        below = os.path.relpath(cwd, root)
        names = tuple(
            n if below == "." else n[len(below) + 1 :] for n in names if below == "." or is_inside(n, below)
        )
        if not all(_PLAIN_NAME.fullmatch(name) and ".." not in name.split("/") for name in names):
            return None
        folder = [os.path.isdir(os.path.join(cwd, name)) for name in names]
        return Reading(
            tuple(
                (Word(n, n), Operand.TREE if d else Operand.FILE) for n, d in zip(names, folder, strict=True)
            )
        )


def keeps_names(simple: Simple) -> bool:
    """Tell whether a stage of a pipeline only leaves out or sorts lines: `find src | sort | xargs wc -l`."""
    words = simple.words
    if not words or simple.redirects_input or not all(word.static for word in words):
        return False
    options = _KEEPS_NAMES.get(words[0].text)
    return options is not None and not read_use(parse_spec(options), words[1:]).refused


def _options_file(program: str, words: Sequence[Word]) -> str:
    """Give the first word `@file`, which binutils, compilers and others replace by what the file holds."""
    if program in BUILTINS or program in words_of("programs.txt", "takes @ literally"):
        return ""
    return next((word.text for word in words if word.text.startswith("@")), "")


# Types of rg whose files have plain names: a type of rg also finds hidden files.
_PLAIN_TYPES = frozenset(
    [
        "c",
        "cpp",
        "cs",
        "css",
        "go",
        "html",
        "java",
        "js",
        "json",
        "kotlin",
        "lua",
        "make",
        "markdown",
        "md",
        "php",
    ]
).union(["py", "rb", "ruby", "rust", "scala", "sql", "swift", "toml", "ts", "typescript", "xml", "yaml"])


def _search(program: str, use: Use, paths: list[tuple[Word, Operand]]) -> Reading:
    """Say what grep, rg or ag search: directories as a whole, the current one when none is named."""
    if program.endswith("grep") and not use.has("-r", "-R", "--recursive", "--dereference-recursive"):
        return Reading(tuple(paths))
    if not program.endswith("grep") and use.has("--files", "--type-list", "--version", "--help"):
        return Reading(tuple((word, Operand.NAME) for word, _ in paths))
    roots = [(word, Operand.TREE) for word, kind in paths if kind in (Operand.TREE, Operand.FILE)]
    return Reading(
        tuple(roots or [(Word(".", "."), Operand.TREE)]),
        follows_links=use.has("-R", "--dereference-recursive"),
        skips_hidden=not program.endswith("grep") and _skips_hidden(use),
        only=_included(program, use),
    )


def _skips_hidden(use: Use) -> bool:
    """Tell whether rg or ag leave out hidden files: what a glob or a type of rg names is searched all the same."""
    if use.has("--hidden", "-u", "--unrestricted"):
        return False
    given = [(name, value.text) for name, value in use.options if value is not None]
    names_some = any(name in _GLOBS and not text.startswith("!") for name, text in given)
    return not names_some and all(text in _PLAIN_TYPES for name, text in given if name in ("-t", "--type"))


_GLOBS = ("-g", "--glob", "--iglob")


def _included(program: str, use: Use) -> tuple[str, ...]:
    """Give the file names that a search is limited to, when it is limited by simple patterns only.

    With --exclude grep searches also what no pattern names, and --iglob knows no case.
    """
    if use.has("--iglob", "--exclude", "--exclude-from"):
        return ()
    names = ("--include",) if program.endswith("grep") else ("-g", "--glob")
    patterns = tuple(value.text for name, value in use.options if name in names and value is not None)
    plain = all("/" not in pattern and not pattern.startswith("!") for pattern in patterns)
    return patterns if plain else ()

"""Judges one simple command: whether it only reads the project, and what it touches if not."""

import contextlib
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import takewhile

from agent_tui.permissions.paths import is_secret
from agent_tui.permissions.patterns import quoted_star
from agent_tui.permissions.rules import Spelling
from agent_tui.permissions.shell.arity import lasting_pattern
from agent_tui.permissions.shell.effects import Effects, deletes_too_much, network_touches
from agent_tui.permissions.shell.elsewhere import elsewhere, leaving
from agent_tui.permissions.shell.embedded import fed_texts, files_in_code, words_in
from agent_tui.permissions.shell.git import remote_hosts, split_global
from agent_tui.permissions.shell.harmless import Harmless
from agent_tui.permissions.shell.model import Part, Touch
from agent_tui.permissions.shell.network import network_use
from agent_tui.permissions.shell.options import Operand
from agent_tui.permissions.shell.pathwords import in_braces, in_cluster, in_lists, in_urls
from agent_tui.permissions.shell.readers import readers
from agent_tui.permissions.shell.script import Simple
from agent_tui.permissions.shell.special import Reading
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import NotStatic, Word
from agent_tui.permissions.shell.world import Place, World
from agent_tui.permissions.shell.wrappers import (
    MAX_LAYERS,
    SUPERUSER,
    Unwrapped,
    base_name,
    possible_inner,
    unwrap,
)
from agent_tui.protocol.permissions import PermissionKind, Risk

_JOINTS = re.compile(r"[=:@<>,;#|\[\]\"]")
_OWN_PROGRAMS = frozenset({"agent-tui", "agent_tui"})
_READS_BY_NATURE = frozenset(["find", "jq", "ps", "date", "ss"])
_GIT_READS = frozenset(
    ["diff", "log", "show", "status", "grep", "blame", "shortlog", "ls-files", "rev-list", "rev-parse"]
)
_COMMAND_SET = re.compile(
    r"PAGER|EDITOR|VISUAL|BROWSER|COMMAND|CMD|LESSOPEN|LESSCLOSE|SSH|ASKPASS|DIFF|RSH|SHELL|PS[0-4]|WRAPPER|EXEC"
)
_MOST_SUFFIXES = 64
_MOST_READ = 3
_HIGH_USES = re.compile(
    r"git push .*(--force|-f\b|--mirror|--delete|\+)|git reset .*--hard|git clean .*-\w*f|git checkout .*(-f\b|--force)"
    r"|git (filter-branch|filter-repo|update-ref|reflog expire|gc .*--prune)|docker run .*(--privileged|-v /:|--pid=host|--net=host)"
    r"|chmod .*(777|\+s|4755)|kill(all)? .*-1\b|npm publish.*|cargo publish.*|terraform (apply|destroy).*|kubectl delete.*|gh repo delete.*"
    r"|twine upload.*|pkill .*|killall .*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Judged:
    """The part, its touches, and the directory the next command starts in ("" when that is not known)."""

    part: Part
    touches: tuple[Touch, ...]
    cwd: str


@dataclass
class _Verdict:
    """What is known of one command while it is judged; `code` is what may name files in the code it gets."""

    why: str = ""
    touches: list[Touch] = field(default_factory=list[Touch])
    code: list[str] = field(default_factory=list[str])
    needs_strong: bool = False
    exact_only: bool = False
    risk: Risk = Risk.MEDIUM
    lasting: bool = True
    sealed: str = ""

    @property
    def safe(self) -> bool:
        return self.why == ""

    def seal(self, why: str) -> None:
        """Let nothing but a person allow it."""
        self.why = self.sealed = why
        self.risk, self.lasting = Risk.HIGH, False


class Judge:
    """Judges simple commands of one script in one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._harmless = Harmless(world)

    def judge(self, simple: Simple, cwd: str, upstream: Simple | None = None) -> Judged:
        """Judge a command that starts in `cwd`; `upstream` feeds its input."""
        words = simple.words
        verdict = _Verdict()
        inner = unwrap(words)
        if words:
            expanded = self._expanded(words, cwd, verdict)
            inner = unwrap(expanded)
            self._program(inner, simple, cwd, verdict, upstream)
        following = self._directory(inner, cwd)
        self._assignments(simple, verdict)
        touches = [*verdict.touches, *self._redirects(simple, cwd)]
        part = self._part(simple, inner, verdict, cwd)
        return Judged(part, tuple(dict.fromkeys(touches)), following)

    def _expanded(self, words: Sequence[Word], cwd: str, verdict: _Verdict) -> tuple[Word, ...]:
        """Put the file names in place of wildcards."""
        out: list[Word] = []
        for word in words:
            try:
                out.extend(self._world.expand(word, cwd))
            except NotStatic as error:
                verdict.why = str(error)
                out.append(word)
        return tuple(out)

    def _program(
        self, inner: Unwrapped, simple: Simple, cwd: str, verdict: _Verdict, upstream: Simple | None
    ) -> None:
        words = inner.words
        name = words[0].text
        reading = self._harmless.reading(inner, cwd, upstream)
        if reading.refused:
            verdict.why = verdict.why or reading.refused
            verdict.exact_only = reads_by_nature(words)
            self._unsafe(words, simple, cwd, verdict, fed_texts(simple, upstream))
            verdict.touches.extend(self._fed_names(words, cwd, upstream))
            return
        verdict.needs_strong = name == "git" and not words[-1].text.startswith("--version")
        for word, kind in reading.paths:
            self._reads(word, kind, cwd, verdict, _Reader(base_name(name), reading))

    def _fed_names(self, words: tuple[Word, ...], cwd: str, upstream: Simple | None) -> Iterator[Touch]:
        """Give a touch for each directory outside where `find ~ | xargs rm` may change files."""
        found = unwrap(upstream.words).words if upstream is not None else ()
        if base_name(words[0].text) not in ("xargs", "parallel") or not found or found[0].text != "find":
            return
        if any(base_name(layer[0].text) in readers() for layer in possible_inner(words)):
            return
        roots = takewhile(lambda word: not word.text.startswith(("-", "(", "!")), found[1:])
        for place in (self._world.place(word.text, cwd) for word in roots):
            if not self._world.contains(place):
                effects = Effects(self._world, cwd)
                yield effects.write(place, f"{words[0].text} may change what find names", folder=True)

    def _reads(self, word: Word, kind: Operand, cwd: str, verdict: _Verdict, reader: "_Reader") -> None:
        """Add a touch when a path lies outside or may hold secrets."""
        effects = Effects(self._world, cwd)
        place = self._world.place(word.text, cwd)
        if kind in (Operand.NONE, Operand.TEXT) or self._world.is_open(place):
            return
        if not self._world.contains(place):
            verdict.touches.append(effects.read(place, f"{reader.program} reads {place.real}"))
        elif kind is not Operand.NAME and any(is_secret(path) for path in place.spellings):
            verdict.touches.append(effects.secret(place, PermissionKind.READ, reader.program))
        elif kind is Operand.TREE:
            self._tree(place, verdict, reader, effects)

    def _tree(self, place: Place, verdict: _Verdict, reader: "_Reader", effects: Effects) -> None:
        facts = self._world.facts(place.real)
        skips = reader.reading.skips_hidden
        hidden = [
            path for path in facts.hidden_secrets if not skips or _is_brought_back(path, facts.brought_back)
        ]
        found = [*facts.secrets, *hidden]
        if shown := [path for path in found if _is_among(path, reader.reading.only)]:
            secret = self._world.place(shown[0], "/")
            verdict.touches.append(effects.secret(secret, PermissionKind.READ, reader.program))
        elif facts.too_big:
            verdict.why = "the directory is too big to look for secrets"
        elif reader.reading.follows_links:
            out = [path for path in facts.links_out if _is_among(path, reader.reading.only)]
            for path in out[:1]:
                outside = self._world.place(path, "/")
                verdict.touches.append(effects.read(outside, f"{reader.program} follows {path}"))

    def _unsafe(
        self, words: tuple[Word, ...], simple: Simple, cwd: str, verdict: _Verdict, fed: list[Word]
    ) -> None:
        """Work out what a command that is not harmless touches, and how grave that is."""
        program = base_name(words[0].text)
        use = network_use(words, git_hosts=remote_hosts(self._world, cwd) if program == "git" else ())
        if use is not None:
            verdict.touches.extend(network_touches(use, program))
        layers = [words, *possible_inner(words)]
        if len(words) > MAX_LAYERS and len(layers) > _MOST_READ:
            verdict.seal("it is too long to see what it runs")
            layers = layers[:_MOST_READ]
        leaves = leaving(words, layers)
        for layer in layers:
            inner = base_name(layer[0].text)
            start = len(words) - len(layer)
            left = elsewhere(layer) if start == leaves else None
            here = left.here if left is not None else words[start:leaves]
            if start <= leaves:
                verdict.touches.extend(Effects(self._world, cwd).of(layer if left is not None else here))
                code_fed = fed if left is None else ()
                verdict.touches.extend(Effects(self._world, cwd).in_code(inner, here[1:], code_fed))
            verdict.code.extend(path for path, _ in files_in_code(inner, layer[1:], fed))
            if layer is not words and program != "ssh" and (hidden := network_use(layer)) is not None:
                verdict.touches.extend(network_touches(hidden, inner))
        self._grave(layers, verdict)
        for layer in (unwrap(simple.words).words, *possible_inner(simple.words)):
            if layer and (wide := deletes_too_much(layer, self._world, cwd)) != "":
                verdict.seal(wide)

    def _grave(self, layers: Sequence[tuple[Word, ...]], verdict: _Verdict) -> None:
        """Raise the risk of what changes the machine, publishes or runs agent-tui itself."""
        text = " ".join(word.text for word in layers[0])
        names = {base_name(layer[0].text) for layer in layers}
        if names & (SUPERUSER | words_of("programs.txt", "high")) or _HIGH_USES.match(text):
            verdict.risk = Risk.HIGH
        if names & _OWN_PROGRAMS or re.search(r"-m\s+agent_tui\b", text):
            verdict.seal("it is agent-tui itself")

    def _assignments(self, simple: Simple, verdict: _Verdict) -> None:
        if simple.assigns:
            verdict.why = verdict.why or "an assignment, which can change what a command does"

    def _redirects(self, simple: Simple, cwd: str) -> Iterator[Touch]:
        """Give the touches of redirections: a write of the target, a read of it, a socket."""
        effects = Effects(self._world, cwd)
        for redirect in simple.redirects:
            if redirect.target is None or redirect.op == "<<<" or redirect.duplicates:
                continue
            text = redirect.target.text
            if match := re.match(r"/dev/(?:tcp|udp)/([^/]+)", text):
                yield Touch(
                    PermissionKind.NETWORK,
                    f"raw:{match[1]}",
                    f"a socket to {match[1]}",
                    lasting=False,
                    outside=True,
                )
                continue
            place = self._world.place(text, cwd)
            if self._world.is_open(place):
                continue
            if redirect.op != "<":
                yield effects.write(place, f"the output goes to {place.real}")
            elif not self._world.contains(place):
                yield effects.read(place, f"the input comes from {place.real}")
            elif any(is_secret(path) for path in place.spellings):
                yield effects.secret(place, PermissionKind.READ, "the command")

    def _directory(self, inner: Unwrapped, cwd: str) -> str:
        """Give the directory after a command: `cd` moves, everything else stays."""
        words = inner.words
        if not words or words[0].text not in ("cd", "pushd", "popd", "chdir") or not inner.in_shell:
            return cwd
        operands = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "--")]
        if words[0].text == "popd" or len(operands) > 1 or (operands and operands[0].text == "-"):
            return ""
        if not operands:
            return self._world.home
        if not operands[0].static and operands[0].text == "":
            return ""
        return self._world.place(operands[0].text, cwd).named

    def _part(self, simple: Simple, inner: Unwrapped, verdict: _Verdict, cwd: str) -> Part:
        words = simple.words
        argv = tuple(word.text for word in words)
        source = simple.source.strip()
        through_harmless = unwrap(words)
        allow_as = tuple(
            dict.fromkeys(
                Spelling(joined(layer), tuple(word.text for word in layer))
                for layer in (words, through_harmless.words)
                if layer
            )
        )
        named = (*_arguments(simple), *_plain(verdict.code))
        return Part(
            argv=argv,
            source=source,
            safe=verdict.safe,
            why=verdict.why or "only reads",
            risk=verdict.risk,
            lasting=verdict.lasting,
            sealed=verdict.sealed,
            needs_strong=verdict.needs_strong,
            exact_only=verdict.exact_only,
            pattern=_pattern(words, verdict),
            spellings=tuple(_readings(words)),
            allow_as=allow_as,
            mentions=tuple(self.mentions(named, cwd, joined=not (verdict.safe or verdict.exact_only))),
        )

    def mentions(self, words: Iterable[Word], cwd: str, *, joined: bool = False) -> Iterator[tuple[str, ...]]:
        """Give every path that words name, for deny and ask rules; `joined` also looks between marks in a word."""
        for word in words:
            texts = [word.text, word.text.partition("=")[2]]
            if word.text.startswith("-") and len(word.text) > 2:
                texts = [word.text, word.text.partition("=")[2], word.text[2:]]
            with contextlib.suppress(NotStatic):
                texts.extend(found.text for found in self._world.expand(word, cwd))
            for text in dict.fromkeys(
                part
                for named in texts
                for each in in_braces(named)
                for part in _paths_in(each, joined=joined)
            ):
                if text and len(text) < 4096 and "\0" not in text:
                    yield self._world.place(
                        text.replace("~", self._world.home, 1) if text.startswith("~/") else text, cwd
                    ).spellings


def _arguments(simple: Simple) -> tuple[Word, ...]:
    """Give what stands behind a program's name, what is redirected and assigned, and words of `PAGER='cat FILE'`."""
    targets = [redirect.target for redirect in simple.redirects if redirect.target]
    set_here = [
        *(word.text for word in simple.words[1:]),
        *(f"{name}={v.text}" for name, v in simple.assigns),
    ]
    parts = (text.partition("=") for text in set_here)
    commands = [
        word
        for name, _, value in parts
        if re.fullmatch(r"\w+", name) and _COMMAND_SET.search(name)
        for word in words_in(value)
    ]
    return (*simple.words[1:], *targets, *(value for _, value in simple.assigns), *_plain(commands))


def _plain(texts: Iterable[str]) -> Iterator[Word]:
    return (Word(text, text) for text in dict.fromkeys(texts))


def _paths_in(text: str, *, joined: bool) -> Iterator[str]:
    """Give what may be a path in a word: itself, that of `@file`, the sides of `HEAD:file` and of `a=@file;type=b`."""
    yield text
    yield from in_urls(text)
    yield from in_lists(text)
    if glued := in_cluster(text):
        yield glued[1]
    if text.startswith("@"):
        yield text[1:]
    if ":" in text and "://" not in text:
        yield from text.split(":")
    if joined and "://" not in text and _JOINTS.search(text):
        yield from _JOINTS.split(text)
        last = deque(_JOINTS.finditer(text), maxlen=_MOST_SUFFIXES)  # all of a long word would be quadratic
        yield from (text[match.end() :] for match in last)


@dataclass(frozen=True)
class _Reader:
    """A program that reads, and how."""

    program: str
    reading: Reading


def _is_among(path: str, only: tuple[str, ...]) -> bool:
    """Tell whether a file is one that is searched; what programs read in different ways makes a pattern match."""
    name = path.rsplit("/", 1)[-1]
    return not only or any(re.search(r"[{\\\[]", p) or fnmatchcase(name, p) for p in only)


def _is_brought_back(path: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a line `!PATTERN` of an ignore file could make rg search a hidden file."""
    parts = path.split("/")
    return any(
        re.search(r"[{\\\[]", pattern) or any(fnmatchcase(part, pattern) for part in parts)
        for pattern in patterns
    )


def reads_by_nature(words: Sequence[Word]) -> bool:
    """Tell whether a program is meant for reading, so that no wildcard covers its other uses."""
    name = base_name(words[0].text)
    if name != "git":
        return name in _READS_BY_NATURE or (name in readers() and name != "unzip")
    rest = split_global(words[1:])[1]
    return bool(rest) and rest[0].text in _GIT_READS


def _pattern(words: Sequence[Word], verdict: _Verdict) -> str:
    """Give what "always" would store; the exact words where a wildcard would not cover this very use."""
    if not verdict.lasting or not words:
        return ""
    written = " ".join(word.raw for word in words)
    if verdict.exact_only and not verdict.safe:
        return f"Bash({quoted_star(written)})"
    return lasting_pattern([word.text for word in words], written)


def joined(words: Sequence[Word]) -> str:
    """Give the text that patterns are compared with: words by one space, quoted where they hold blanks or quotes."""
    return " ".join(_quoted(word.text) for word in words)


def _quoted(text: str) -> str:
    if text and not re.search(r"[\s'\"\\]", text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def _readings(words: Sequence[Word]) -> Iterator[Spelling]:
    """Give every way to read a command that a deny rule should see."""
    for layer in (
        tuple(words),
        unwrap(tuple(words)).words,
        *possible_inner(tuple(words)),
        *possible_inner(unwrap(tuple(words)).words),
    ):
        if not layer:
            continue
        argv = (base_name(layer[0].text), *(word.text for word in layer[1:]))
        yield Spelling(joined(layer), tuple(word.text for word in layer))
        yield Spelling(" ".join(argv), argv)
        yield from _without_options(argv)


def _without_options(argv: tuple[str, ...]) -> Iterator[Spelling]:
    """Give `git checkout x` for `git -C . checkout x`: options before the first plain word left out."""
    for at in range(1, min(len(argv), 12)):
        if argv[at].startswith("-"):
            continue
        yield Spelling(" ".join((argv[0], *argv[at:])), (argv[0], *argv[at:]))
        if not argv[at - 1].startswith("-"):
            return

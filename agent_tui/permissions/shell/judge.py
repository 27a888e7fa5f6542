"""Judges one simple command: whether it only reads the project, and what it touches if not."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agent_tui.permissions.paths import is_secret
from agent_tui.permissions.rules import Spelling
from agent_tui.permissions.shell.arity import lasting_pattern
from agent_tui.permissions.shell.effects import Effects, deletes_too_much, network_touches
from agent_tui.permissions.shell.git import check_git, remote_hosts, split_global
from agent_tui.permissions.shell.model import Part, Touch
from agent_tui.permissions.shell.network import network_use
from agent_tui.permissions.shell.options import Operand, Use, file_values, read_use
from agent_tui.permissions.shell.readers import readers, versioned
from agent_tui.permissions.shell.script import Simple
from agent_tui.permissions.shell.special import BUILTINS, CHECKS, HARMLESS, Reading, check_lookup, refuse
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import NotStatic, Word
from agent_tui.permissions.shell.world import Place, World
from agent_tui.permissions.shell.wrappers import SUPERUSER, Unwrapped, base_name, possible_inner, unwrap
from agent_tui.protocol.permissions import PermissionKind, Risk

_PROGRAM = re.compile(r"[A-Za-z0-9_+.\-\[:]+")
_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/")
_OWN_PROGRAMS = frozenset({"agent-tui", "agent_tui"})
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
    """What is known of one command while it is judged."""

    why: str = ""
    touches: list[Touch] = field(default_factory=list[Touch])
    needs_strong: bool = False
    exact_only: bool = False
    risk: Risk = Risk.MEDIUM
    lasting: bool = True

    @property
    def safe(self) -> bool:
        return self.why == ""


class Judge:
    """Judges simple commands of one script in one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def judge(self, simple: Simple, cwd: str, upstream: Simple | None = None) -> Judged:
        """Judge a command that starts in `cwd`; `upstream` feeds its input."""
        words = simple.words
        verdict = _Verdict()
        inner = unwrap(words)
        if words:
            expanded = self._expanded(words, cwd, verdict)
            inner = unwrap(expanded)
            self._program(inner, cwd, verdict, upstream)
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

    def _program(self, inner: Unwrapped, cwd: str, verdict: _Verdict, upstream: Simple | None) -> None:
        words = inner.words
        name = words[0].text
        reading = self._reading(inner, cwd, upstream)
        if reading.refused:
            verdict.why = verdict.why or reading.refused
            verdict.exact_only = base_name(name) in readers() or name in CHECKS or _is_git_reader(words)
            self._unsafe(words, cwd, verdict)
            return
        verdict.needs_strong = name == "git" and not words[-1].text.startswith("--version")
        for word, kind in reading.paths:
            self._reads(word, kind, cwd, verdict, _Reader(base_name(name), reading))

    def _reading(self, inner: Unwrapped, cwd: str, upstream: Simple | None) -> Reading:
        """Say what a harmless command reads, or why it is not known to be harmless."""
        words = inner.words
        name = words[0].text
        if not all(word.static for word in words):
            return refuse("not all words are known")
        program = self._known_name(name)
        if program == "":
            return refuse("a program that is not called by its plain name")
        is_builtin = program in BUILTINS and inner.in_shell
        if not is_builtin and (found := self._world.runs_from_project(program, cwd)):
            return refuse(f"{program} would be run from {found}")
        if program in ("cd",):
            return HARMLESS if inner.in_shell else refuse("cd by a program")
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
        if program in ("grep", "rg", "ag") and has_pattern:
            spec = replace(spec, first=None)
        paths = list(file_values(spec, use))
        if program in ("grep", "rg", "ag"):
            return _search(program, use, paths)
        return Reading(tuple(paths), follows_links=program in ("diff", "colordiff"))

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
        found = facts.secret or ("" if reader.reading.skips_hidden else facts.hidden_secret)
        if found:
            secret = self._world.place(found, "/")
            verdict.touches.append(effects.secret(secret, PermissionKind.READ, reader.program))
        elif facts.too_big:
            verdict.why = "the directory is too big to look for secrets"
        elif reader.reading.follows_links and facts.link_out:
            outside = self._world.place(facts.link_out, "/")
            verdict.touches.append(effects.read(outside, f"{reader.program} follows {facts.link_out}"))

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
        reading = self._reading(Unwrapped(tuple(inner), (), False), cwd, None)
        if reading.refused:
            return reading
        kind = (
            Operand.NAME if inner[0].text in ("ls", "stat", "basename", "dirname", "echo") else Operand.TREE
        )
        return Reading(
            (*((path, k) for path, k in reading.paths if path.text != "."), *((root, kind) for root in fed))
        )

    def _fed_from(self, upstream: Simple, cwd: str) -> list[Word] | None:
        """Give the directories whose file names a command prints; None when names could be anything."""
        words = unwrap(upstream.words).words
        if not words or words[0].text not in ("find", "rg", "grep", "fd", "git") or upstream.redirects_input:
            return None
        reading = self._reading(Unwrapped(words), cwd, None)
        if reading.refused:
            return None
        if words[0].text == "git" and [word.text for word in words[1:2]] != ["ls-files"]:
            return None
        lists = {"-l", "-rl", "-lr", "--files-with-matches", "--files", "-rln", "-lrn", "-ril", "-rli"}
        if words[0].text in ("rg", "grep") and not any(word.text in lists for word in words):
            return None
        if any(
            word.text in ("-printf", "-ls", "--format", "-s", "--stage", "-n", "-c") for word in words[1:]
        ):
            return None
        roots = [path for path, kind in reading.paths if kind is not Operand.NONE] or [Word(".", ".")]
        for root in roots:
            place = self._world.place(root.text, cwd)
            if not self._world.contains(place) or self._world.facts(place.real).odd_name:
                return None
        return roots

    def _unsafe(self, words: tuple[Word, ...], cwd: str, verdict: _Verdict) -> None:
        """Work out what a command that is not harmless touches, and how grave that is."""
        program = base_name(words[0].text)
        use = network_use(words, git_hosts=remote_hosts(self._world, cwd) if program == "git" else ())
        if use is not None:
            verdict.touches.extend(network_touches(use, program))
        for layer in (words, *possible_inner(words)):
            verdict.touches.extend(Effects(self._world, cwd).of(layer))
            if (wide := deletes_too_much(layer, self._world, cwd)) != "":
                verdict.why, verdict.risk, verdict.lasting = wide, Risk.HIGH, False
            if layer is not words and (hidden := network_use(layer)) is not None:
                verdict.touches.extend(network_touches(hidden, base_name(layer[0].text)))
        text = " ".join(word.text for word in words)
        names = {base_name(layer[0].text) for layer in (words, *possible_inner(words))}
        if names & (SUPERUSER | words_of("programs.txt", "high")) or _HIGH_USES.match(text):
            verdict.risk = Risk.HIGH
        if names & _OWN_PROGRAMS or re.search(r"-m\s+agent_tui\b", text):
            verdict.why, verdict.risk, verdict.lasting = "agent-tui itself", Risk.HIGH, False

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
        return Part(
            argv=argv,
            source=joined(words) if words else source,
            safe=verdict.safe,
            why=verdict.why or "only reads",
            risk=verdict.risk,
            lasting=verdict.lasting,
            needs_strong=verdict.needs_strong,
            exact_only=verdict.exact_only,
            pattern=lasting_pattern([w.text for w in words], joined(words)) if verdict.lasting else "",
            spellings=tuple(_readings(words)),
            allow_as=allow_as,
            mentions=tuple(self._mentions(simple, cwd)),
        )

    def _mentions(self, simple: Simple, cwd: str) -> Iterator[tuple[str, ...]]:
        """Give every path that a command names, for deny and ask rules."""
        targets = [redirect.target for redirect in simple.redirects if redirect.target]
        for word in (*simple.words[1:], *targets):
            texts = [word.text, word.text.partition("=")[2]]
            if word.text.startswith("-") and len(word.text) > 2:
                texts = [word.text.partition("=")[2], word.text[2:]]
            with contextlib.suppress(NotStatic):
                texts.extend(found.text for found in self._world.expand(word, cwd))
            for text in dict.fromkeys(texts):
                if text and len(text) < 4096 and "\0" not in text:
                    yield self._world.place(text, cwd).spellings


@dataclass(frozen=True)
class _Reader:
    """A program that reads, and how."""

    program: str
    reading: Reading


def _search(program: str, use: Use, paths: list[tuple[Word, Operand]]) -> Reading:
    """Say what grep, rg or ag search: directories as a whole, the current one when none is named."""
    if program == "grep" and not use.has("-r", "-R", "--recursive", "--dereference-recursive"):
        return Reading(tuple(paths))
    if program != "grep" and use.has("--files", "--type-list", "--version", "--help"):
        return Reading(tuple((word, Operand.NAME) for word, _ in paths))
    roots = [(word, Operand.TREE) for word, kind in paths if kind in (Operand.TREE, Operand.FILE)]
    return Reading(
        tuple(roots or [(Word(".", "."), Operand.TREE)]),
        follows_links=use.has("-R", "--dereference-recursive"),
        skips_hidden=program != "grep" and not use.has("--hidden", "-u", "--unrestricted"),
    )


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
        "sort",
        "cut",
        "nl",
        "strings",
        "rg",
    ]
)


def _is_git_reader(words: Sequence[Word]) -> bool:
    """Tell whether a git command reads by nature, so that unknown options are no part of a wildcard."""
    if words[0].text != "git":
        return False
    rest = split_global(words[1:])[1]
    return bool(rest) and rest[0].text in (
        "diff",
        "log",
        "show",
        "status",
        "grep",
        "blame",
        "shortlog",
        "ls-files",
        "rev-list",
    )


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

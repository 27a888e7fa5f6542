"""Analyses a whole command: two parsers, each simple command judged, what they run inside judged as well."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent_tui.permissions.shell.directories import Directories
from agent_tui.permissions.shell.elsewhere import leaving, local_scripts
from agent_tui.permissions.shell.embedded import fed_texts
from agent_tui.permissions.shell.exact import exact_part
from agent_tui.permissions.shell.harmless import keeps_names
from agent_tui.permissions.shell.judge import Judge, Judged
from agent_tui.permissions.shell.model import Analysis, Part, Touch
from agent_tui.permissions.shell.prefilter import MAX_CHARS, MAX_COMMANDS, suspicious
from agent_tui.permissions.shell.script import Script, Simple, Step
from agent_tui.permissions.shell.strict import StrictParser
from agent_tui.permissions.shell.tree import TreeReader, TreeScript
from agent_tui.permissions.shell.words import NotStatic, Word
from agent_tui.permissions.shell.world import World
from agent_tui.permissions.shell.wrappers import SHELLS, base_name, possible_inner, shell_script, unwrap
from agent_tui.protocol.permissions import PermissionKind, Risk

MAX_DEPTH = 3
_INTERPRETER = re.compile(
    r"(python|pypy|node|nodejs|ruby|perl|php|lua|deno|bun|R|Rscript|osascript|tclsh|psql|mysql)[\d.]*"
)


@dataclass(frozen=True)
class _Found:
    """Parts, touches and reasons of one script, and the paths that stand anywhere in one that is not plain."""

    parts: tuple[Part, ...]
    touches: tuple[Touch, ...]
    reasons: tuple[str, ...]
    mentions: tuple[tuple[str, ...], ...] = ()


class Analyser:
    """Analyses commands of one project. Making one is cheap; nothing is remembered between commands."""

    def __init__(self, *, project: Path, home: Path, environ: Mapping[str, str]) -> None:
        self._project = str(project)
        self._home = str(home)
        self._environ = environ

    def __call__(self, command: str, cwd: Path) -> Analysis:
        """Analyse a command that starts in `cwd`."""
        hidden = suspicious(command)
        if len(command) > 20 * MAX_CHARS:
            unread = replace(exact_part(command, hidden), sealed=hidden, lasting=False, pattern="")
            return Analysis(command, (unread,), unclear=(hidden,))
        world = World(
            self._project,
            self._home,
            self._environ.get("PATH", os.defpath),
            has_cdpath=bool(self._environ.get("CDPATH")),
        )
        text = command.encode("utf-8", "replace").decode()
        try:
            found = _Run(world).script(text, str(cwd), depth=0)
        except RecursionError:
            found = _Run(world).shallow(text, str(cwd))
        reasons = [hidden] if hidden else []
        reasons.extend(found.reasons)
        parts = found.parts or (exact_part(command, "nothing that can be read as a command"),)
        if not found.parts and not _is_empty(command):
            reasons.append("nothing that can be read as a command")
        parts = (replace(parts[0], mentions=(*parts[0].mentions, *found.mentions)), *parts[1:])
        return Analysis(command, parts, _merged(found.touches), tuple(dict.fromkeys(reasons)))


def _is_empty(command: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("#") for line in command.split("\n"))


def _merged(touches: tuple[Touch, ...]) -> tuple[Touch, ...]:
    """Give each target once per kind; a write of a path makes its read needless."""
    seen: dict[tuple[PermissionKind, str, bool], Touch] = {}
    for touch in touches:
        seen.setdefault((touch.kind, touch.target, touch.lasting), touch)
    return tuple(seen.values())


class _Run:
    """One analysis."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._judge = Judge(world)

    def script(self, text: str, cwd: str, *, depth: int) -> _Found:
        """Analyse a script and, to a depth, the scripts that it runs."""
        reader = TreeReader(text, home=self._world.home, cwd=cwd)
        tree = reader.read()
        reasons = list(tree.reasons)
        script: Script = tree
        try:
            strict = StrictParser(text, home=self._world.home).parse()
        except NotStatic as error:
            reasons.insert(0, str(error))
        else:
            if tree.broken or not _same(strict, tree):
                reasons.append("the command can be read in two ways")
            script = strict
        judged = [*self._steps(script.steps, cwd, reasons, depth)]
        if script is not tree and reasons:
            judged.extend(self._steps(tree.steps, cwd, [], depth))
        if len(judged) > MAX_COMMANDS:
            reasons.append(f"more than {MAX_COMMANDS} commands")
        if tree.broken:
            judged.extend(self._scraps(text, cwd))
        return _Found(
            tuple(dict.fromkeys(j.part for j in judged)),
            tuple(touch for j in judged for touch in j.touches),
            tuple(dict.fromkeys(reasons)),
            tuple(self._judge.mentions(reader.literals(), cwd)) if reasons else (),
        )

    def shallow(self, text: str, cwd: str) -> _Found:
        """Look only at the words of a script that is nested too deeply to be walked."""
        judged = list(self._scraps(text, cwd))
        touches = tuple(touch for j in judged for touch in j.touches)
        return _Found(tuple(j.part for j in judged), touches, ("it is nested too deeply",))

    def _steps(self, steps: list[Step], cwd: str, reasons: list[str], depth: int) -> Iterator[Judged]:
        directories: dict[tuple[int, ...], Directories] = {(): Directories((cwd,), (cwd,))}
        for step in steps:
            before = _directories_of(step.scope, directories)
            moves: list[tuple[str, str]] = []
            for start in before.before(step.joined_by):
                judged = [*self._pipeline(step, start, reasons, depth)]
                yield from judged
                moves.append((start, judged[-1].cwd if len(judged) == 1 else start))
            directories[step.scope] = before.after(step.joined_by, moves)
            if any(to == "" for _, to in moves):
                reasons.append("the directory is not known")

    def _pipeline(self, step: Step, start: str, reasons: list[str], depth: int) -> Iterator[Judged]:
        if start == "":
            reasons.append("the directory is not known")
        here = start or self._world.project
        upstream: Simple | None = None
        for simple in step.stages:
            judged = self._judge.judge(simple, here, upstream)
            yield self._checked(judged, simple, upstream, reasons, here, depth)
            upstream = upstream if upstream is not None and keeps_names(simple) else simple

    def _checked(
        self,
        judged: Judged,
        simple: Simple,
        upstream: Simple | None,
        reasons: list[str],
        cwd: str,
        depth: int,
    ) -> Judged:
        """Add what a command runs inside (`bash -c`, `eval`, what it is fed) and what `cd` means."""
        inner = self._inner(simple, upstream, cwd, depth)
        part, touches = judged.part, list(judged.touches)
        if inner is not None:
            touches.extend(inner.touches)
            reasons.extend(f"{reason}, inside {part.argv[0]}" for reason in inner.reasons if depth == 0)
            part = _with_inner(part, inner)
        if depth >= MAX_DEPTH and any(shell_script(layer) for layer in _layers(simple)):
            part = replace(part, sealed="it is nested too deeply to be read", lasting=False, pattern="")
        if judged.cwd not in (cwd, "") and (moved := self._moved(simple, judged.cwd)) is not None:
            part, touches = (
                replace(part, safe=False, why=moved) if isinstance(moved, str) else part,
                (touches if isinstance(moved, str) else [*touches, moved]),
            )
        if _runs_its_input(simple, upstream):
            risk = Risk.HIGH if upstream is not None else part.risk
            why = "it runs whatever it is fed"
            part = replace(part, safe=False, why=why, risk=risk, lasting=False, pattern="")
        return Judged(part, tuple(touches), judged.cwd)

    def _inner(self, simple: Simple, upstream: Simple | None, cwd: str, depth: int) -> _Found | None:
        if depth >= MAX_DEPTH:
            return None
        layers = _layers(simple)
        leaves = leaving(simple.words, layers)
        texts: dict[str, bool] = {}
        for layer in layers:
            is_here = len(simple.words) - len(layer) < leaves
            script = shell_script(layer)
            scripts = [script.text] if script is not None and script.text else []
            if base_name(layer[0].text) in SHELLS | {"at", "batch"}:
                scripts.extend(word.text for word in fed_texts(simple, upstream))
            texts.update((text, is_here or texts.get(text, False)) for text in scripts)
            texts.update((text, True) for text in local_scripts(layer))
        found = [
            _of(self.script(text, cwd, depth=depth + 1), is_here=is_here) for text, is_here in texts.items()
        ]
        if not found:
            return None
        return _Found(
            tuple(part for f in found for part in f.parts),
            tuple(touch for f in found for touch in f.touches),
            tuple(reason for f in found for reason in f.reasons),
            tuple(paths for f in found for paths in f.mentions),
        )

    def _moved(self, simple: Simple, to: str) -> Touch | str | None:
        """Say what `cd` to a directory needs: outside it is a read; one that is not there yet is not harmless."""
        place = self._world.place(to, "/")
        if not self._world.contains(place):
            return Touch(
                PermissionKind.READ,
                place.real,
                f"cd leaves the project for {place.real}",
                place.spellings,
                True,
                is_folder=True,
            )
        if not os.path.isdir(place.real):
            return "cd to a directory that is not there"
        operand = simple.words[-1].text
        if self._world.has_cdpath and not operand.startswith((".", "/")):
            return "CDPATH may lead cd elsewhere"
        return None

    def _scraps(self, text: str, cwd: str) -> Iterator[Judged]:
        """Read what cannot be parsed word by word, so that deny rules see the commands in it."""
        for scrap in re.split(r"[;&|\n(){}`]|\$\(", text):
            words = tuple(
                Word(word, word, static=False) for word in re.split(r"[\s,]+", scrap.strip()) if word
            )
            if words:
                yield self._judge.judge(Simple(words, (), scrap.strip()), cwd)


def _of(found: _Found, *, is_here: bool) -> _Found:
    """Leave out the paths of what runs in a container or on another machine."""
    if is_here:
        return found
    return replace(found, touches=tuple(t for t in found.touches if t.kind is PermissionKind.NETWORK))


def _layers(simple: Simple) -> list[tuple[Word, ...]]:
    """Give a command as written, without its wrappers, and whatever a wrapper could run."""
    layers = (simple.words, unwrap(simple.words).words, *possible_inner(simple.words))
    return [layer for layer in layers if layer]


def _runs_its_input(simple: Simple, upstream: Simple | None) -> bool:
    """Tell whether a shell or interpreter gets its program from a pipe, a file or a here-document."""
    words = unwrap(simple.words).words
    if not words or not (
        base_name(words[0].text) in SHELLS or _INTERPRETER.fullmatch(base_name(words[0].text))
    ):
        return False
    fed = upstream is not None or any(redirect.op in ("<", "<<", "<<<") for redirect in simple.redirects)
    names_program = any(word.text != "-" and not word.text.startswith("-") for word in words[1:])
    return fed and (not names_program or any(word.text in ("-", "-s") for word in words[1:]))


def _directories_of(
    scope: tuple[int, ...], directories: Mapping[tuple[int, ...], Directories]
) -> Directories:
    """Give what is known in a subshell: at first what holds in the shell around it."""
    if scope in directories:
        return directories[scope]
    outer = _directories_of(scope[:-1], directories).possible
    return Directories(outer, outer)


def _with_inner(part: Part, found: _Found) -> Part:
    """Let rules and the risk of the commands inside count for the one that runs them."""
    inner = found.parts
    sealed = next((p for p in inner if p.sealed), None)
    return replace(
        part,
        spellings=(*part.spellings, *(s for p in inner for s in p.spellings)),
        mentions=(*part.mentions, *(m for p in inner for m in p.mentions), *found.mentions),
        risk=Risk.HIGH if part.risk is Risk.HIGH or any(p.risk is Risk.HIGH for p in inner) else part.risk,
        lasting=part.lasting and all(p.lasting for p in inner),
        sealed=part.sealed or (sealed.sealed if sealed else ""),
        why=sealed.sealed if sealed else part.why,
        pattern=part.pattern if all(p.lasting for p in inner) else "",
        safe=False,
    )


def _same(strict: Script, tree: TreeScript) -> bool:
    """Tell whether both parsers saw the same words and redirections, in the same order."""
    return list(_flat(strict)) == list(_flat(tree))


def _flat(script: Script) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    for step in script.steps:
        for simple in step.stages:
            redirects = [(r.op, r.target.text if r.target else "") for r in simple.redirects]
            yield [word.text for word in simple.words], redirects

"""Finds the rule that decides: deny before ask before allow, whatever their order or length."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.permissions.grammar import READERS, Layer, Rule, canonical_tool, takes_path
from agent_tui.permissions.paths import is_inside
from agent_tui.permissions.patterns import CommandPattern, PathPatterns, compile_command, host_matches
from agent_tui.protocol.permissions import Decision, PermissionKind

_KIND_TOOLS = {
    PermissionKind.WRITE: "edit",
    PermissionKind.READ: "read",
    PermissionKind.EXECUTE: "bash",
    PermissionKind.NETWORK: "webfetch",
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to read a command: its words and the text that patterns are compared with."""

    text: str
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What rules are asked about.

    `paths` holds every spelling of the touched path (as named, where it leads): an allow rule must match all, a
    deny or ask rule one. `spellings` holds the readings of a command that deny and ask rules see (unwrapped, by
    base name); `allow_as` those that an allow rule may match. `exact_only` says that a pattern with a wildcard
    does not cover this use. `mentions` are paths that a command names: only deny and ask rules look at them.
    """

    tool: str
    kind: PermissionKind
    paths: tuple[str, ...] = ()
    spellings: tuple[Spelling, ...] = ()
    allow_as: tuple[Spelling, ...] = ()
    host: str = ""
    name: str = ""
    mentions: tuple[tuple[str, ...], ...] = ()
    exact_only: bool = False


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """Something wrong with a rule file: what, where (`line` 1-based, 0 for the whole file)."""

    text: str
    file: str
    line: int = 0


class RuleBook:
    """All rules of all layers. With `problems` nothing may be allowed without a person (fail closed)."""

    def __init__(
        self, rules: Iterable[Rule] = (), *, problems: Sequence[RuleProblem] = (), trusted: bool = False
    ) -> None:
        self.rules = tuple(rules)
        self.problems = tuple(problems)
        self.trusted = trusted

    def of(self, effect: Decision) -> tuple[Rule, ...]:
        """Give the rules of one list that count: a project's allow rules only once it is trusted."""
        return tuple(rule for rule in self.rules if rule.effect is effect and self._counts(rule))

    def _counts(self, rule: Rule) -> bool:
        return self.trusted or rule.effect is not Decision.ALLOW or rule.origin.layer is not Layer.PROJECT


@dataclass
class Matcher:
    """Compares rules with subjects, for one project and home (real paths)."""

    project: Path
    home: Path
    ignores_case: bool = False
    _commands: dict[str, CommandPattern] = field(default_factory=dict[str, CommandPattern])
    _paths: PathPatterns = field(init=False)

    def __post_init__(self) -> None:
        self._paths = PathPatterns(str(self.project), str(self.home), self.ignores_case)

    def first(self, rules: Iterable[Rule], subject: Subject) -> Rule | None:
        """Give the first of `rules` that matches. Rules are of one list: deny, ask or allow."""
        return next((rule for rule in rules if self.matches(rule, subject)), None)

    def matches(self, rule: Rule, subject: Subject) -> bool:
        """Tell whether `rule` means `subject`."""
        if rule.specifier is None:
            return self._bare(rule, subject)
        if takes_path(rule.tool):
            return self._path(rule, subject)
        match rule.tool:
            case "bash":
                return self._command(rule, subject)
            case "webfetch":
                return _is_host(rule, subject)
            case _:
                return self._named(rule, subject)

    def _bare(self, rule: Rule, subject: Subject) -> bool:
        """Match a tool name alone: the tool itself, or every permission of its kind.

        A bare allow rule ends at the project's border: it covers no path outside and no host of a command.
        """
        tool = canonical_tool(subject.tool)
        if rule.effect is Decision.ALLOW and not self._within(subject, tool):
            return False
        if rule.tool.startswith("mcp__"):
            return _is_mcp(rule.tool, tool)
        return rule.tool in ("*", tool) or rule.tool == _KIND_TOOLS.get(subject.kind)

    def _within(self, subject: Subject, tool: str) -> bool:
        if subject.kind is PermissionKind.NETWORK:
            return tool != "bash"
        return all(is_inside(path, str(self.project)) for path in subject.paths)

    def _path(self, rule: Rule, subject: Subject) -> bool:
        if rule.tool in READERS - {"read"} and rule.tool != canonical_tool(subject.tool):
            return False
        if rule.effect is Decision.ALLOW:
            return self._path_kind(rule, subject.kind) and self._all_paths(rule, subject.paths)
        named = subject.paths if self._path_kind(rule, subject.kind) else ()
        return self._any_path(rule, named) or any(self._any_path(rule, paths) for paths in subject.mentions)

    def _path_kind(self, rule: Rule, kind: PermissionKind) -> bool:
        """A write grant covers a read; who may not read cannot edit; a rule for writers denies no reading."""
        if rule.effect is Decision.ALLOW:
            return kind is PermissionKind.READ or (kind is PermissionKind.WRITE and rule.tool == "edit")
        return kind is PermissionKind.WRITE or (kind is PermissionKind.READ and rule.tool != "edit")

    def _all_paths(self, rule: Rule, paths: Sequence[str]) -> bool:
        pattern, base = rule.specifier or "", rule.origin.base
        return bool(paths) and all(self._paths.matches(pattern, path, base=base) for path in paths)

    def _any_path(self, rule: Rule, paths: Sequence[str]) -> bool:
        pattern, base = rule.specifier or "", rule.origin.base
        return any(self._paths.matches(pattern, path, base=base, loose=True) for path in paths)

    def _command(self, rule: Rule, subject: Subject) -> bool:
        if subject.kind is not PermissionKind.EXECUTE:
            return False
        pattern = self._compiled(rule.specifier or "")
        if rule.effect is not Decision.ALLOW:
            return any(pattern.matches(s.text, s.argv, fold=True) for s in subject.spellings)
        if pattern.wild and subject.exact_only:
            return False
        return any(pattern.matches(s.text, s.argv) for s in subject.allow_as)

    def _compiled(self, specifier: str) -> CommandPattern:
        if specifier not in self._commands:
            self._commands[specifier] = compile_command(specifier)
        return self._commands[specifier]

    def _named(self, rule: Rule, subject: Subject) -> bool:
        if canonical_tool(subject.tool) != rule.tool:
            return False
        given = (rule.specifier or "").casefold()
        return given == "*" or given == subject.name.casefold()


def _is_host(rule: Rule, subject: Subject) -> bool:
    if subject.kind is not PermissionKind.NETWORK or not subject.host:
        return False
    return host_matches(rule.specifier or "", subject.host)


def _is_mcp(pattern: str, tool: str) -> bool:
    """Match `mcp__server`, `mcp__server__*` and `mcp__server__tool`."""
    if pattern.endswith("*"):
        return tool.startswith(pattern[:-1])
    return tool == pattern or tool.startswith(f"{pattern}__")

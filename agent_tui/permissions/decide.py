"""Decides one need: own folders, deny, mode plan, sealed, mode bypass, ask, allow, the other modes - in this order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_tui.permissions.grammar import Layer, Rule
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Need
from agent_tui.permissions.rules import Matcher
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    PermissionDecision,
    PermissionKind,
    Risk,
    RuleRef,
)
from agent_tui.sandbox.interface import Strength

READ_ONLY = RuleRef(text="built-in: only reads the project")
_IN_PROJECT = RuleRef(text="built-in: inside the project")
_OWN = RuleRef(text="built-in: agent-tui's own folders are closed to every tool")
_NEEDS_NONE = RuleRef(text="built-in: the tool needs no permission")
_FOREIGN = frozenset({PermissionKind.TOOL})

Rules = Callable[[Decision], Sequence[Rule]]


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer to one need. `by` NOBODY with ASK means that a person must answer; `why` tells them what asks."""

    decision: Decision
    by: DecidedBy
    rule: RuleRef
    why: str = ""

    def as_decision(self, need: Need) -> PermissionDecision:
        """Give it as a decision; `pattern` says what it covers, for the confinement of the call."""
        return PermissionDecision(
            permission_id=need.permission.id,
            decision=self.decision,
            pattern=need.permission.pattern or _covered(need),
            decided_by=self.by,
            rule=self.rule,
        )


def _covered(need: Need) -> str:
    """Name what is covered where no rule could: the host's own network."""
    is_network = need.permission.kind is PermissionKind.NETWORK
    return need.permission.target if is_network else ""


@dataclass(frozen=True)
class Judge:
    """Decides needs for one mode and one strength of the sandbox.

    `rules` gives the rules of one list, grants included. `broken` says that a rule file could not be read: then
    nothing is allowed without a person. `approval` says whether the tool's calls must be asked for. `vouched` names the
    hook that would allow the call, "" for none.
    """

    matcher: Matcher
    rules: Rules
    mode: Mode
    strength: Strength
    broken: str = ""
    approval: bool = False
    vouched: str = ""

    def decide(self, need: Need) -> Ruling:
        """Answer one need; ASK when only a person can."""
        denial = self._denied(need)
        if denial is not None:
            return denial
        if self.broken:
            return _ask(self.broken)
        if need.sealed:
            return _ask(need.sealed)
        if self.mode is Mode.BYPASS:
            return _by_mode(Decision.ALLOW, self.mode, "everything else is allowed")
        if (asked := self.matcher.first(self.rules(Decision.ASK), need.subject)) is not None:
            return Ruling(Decision.ASK, DecidedBy.NOBODY, asked.ref, why=where(asked.ref))
        allowed = self.matcher.first(self._allow_rules(need), need.subject) if need.lasting else None
        if allowed is not None:
            return Ruling(Decision.ALLOW, DecidedBy.RULE, allowed.ref)
        ruling = self._by_default(need)
        if ruling.decision is Decision.ASK and self.vouched and need.lasting and not _is_high(need):
            return Ruling(Decision.ALLOW, DecidedBy.HOOK, RuleRef(text=f"hook: {self.vouched}"))
        return ruling

    def _denied(self, need: Need) -> Ruling | None:
        if need.own:
            return Ruling(Decision.DENY, DecidedBy.RULE, _OWN)
        if (rule := self.matcher.first(self.rules(Decision.DENY), need.subject)) is not None:
            return Ruling(Decision.DENY, DecidedBy.RULE, rule.ref)
        if self.mode is Mode.PLAN and self._has_effect(need):
            return _by_mode(
                Decision.DENY, self.mode, "nothing with a side effect runs before the plan is accepted"
            )
        return None

    def _has_effect(self, need: Need) -> bool:
        match need.permission.kind:
            case PermissionKind.WRITE:
                return True
            case PermissionKind.EXECUTE:
                return not need.reads_only
            case PermissionKind.TOOL:
                return self.approval
            case _:
                return False

    def _allow_rules(self, need: Need) -> list[Rule]:
        """Give the allow rules that count: a project's own never reach a HIGH row."""
        rules = self.rules(Decision.ALLOW)
        if need.permission.risk is not Risk.HIGH:
            return list(rules)
        return [rule for rule in rules if rule.origin.layer is not Layer.PROJECT]

    def _by_default(self, need: Need) -> Ruling:
        kind = need.permission.kind
        if need.reads_only and kind is PermissionKind.READ:
            return Ruling(Decision.ALLOW, DecidedBy.RULE, _IN_PROJECT)
        if need.reads_only and (self.strength is Strength.STRONG or not need.needs_strong):
            return Ruling(Decision.ALLOW, DecidedBy.RULE, READ_ONLY)
        if kind in _FOREIGN and not self.approval:
            return Ruling(Decision.ALLOW, DecidedBy.RULE, _NEEDS_NONE)
        return self._by_mode(need)

    def _by_mode(self, need: Need) -> Ruling:
        kind, high = need.permission.kind, need.permission.risk is Risk.HIGH
        writes_here = kind is PermissionKind.WRITE and need.inside and not high
        if self.mode is Mode.ACCEPT_EDITS and writes_here and self._may_write(need):
            return _by_mode(Decision.ALLOW, self.mode, "writes in the project run")
        if self.mode is Mode.AUTO and self.strength is Strength.STRONG:
            runs = kind is PermissionKind.EXECUTE and not need.unclear and not high
            if writes_here or runs:
                return _by_mode(Decision.ALLOW, self.mode, "runs in the sandbox")
        return _ask(self._reason(need), otherwise=f"{kind} must be asked for")

    def _reason(self, need: Need) -> str:
        """Say why a person is asked."""
        if need.needs_strong and need.reads_only:
            return "git runs what its configuration names; without a strong sandbox it is asked for"
        return need.permission.reason

    def _may_write(self, need: Need) -> bool:
        """A command's own writes run unasked only where the sandbox holds them."""
        return need.subject.tool.casefold() != "bash" or self.strength is Strength.STRONG


def _is_high(need: Need) -> bool:
    return need.permission.risk is Risk.HIGH


def _ask(reason: str, *, otherwise: str = "") -> Ruling:
    rule = RuleRef(text=f"built-in: {reason or otherwise}")
    return Ruling(Decision.ASK, DecidedBy.NOBODY, rule, why=reason)


def where(rule: RuleRef) -> str:
    """Give a rule with its place as one line: `deny Bash(rm *) (config.toml:3)`."""
    place = f"{rule.file}:{rule.line}" if rule.line else rule.file
    return f"{rule.text} ({place})" if place else rule.text


def _by_mode(decision: Decision, mode: Mode, words: str) -> Ruling:
    return Ruling(decision, DecidedBy.MODE, RuleRef(text=f"mode {mode}: {words}"))


def denial_text(need: Need, ruling: Ruling) -> str:
    """Tell the model what was denied and by which rule, with its file and line."""
    rule = ruling.rule
    place = f"{rule.file}, line {rule.line}" if rule.line else rule.file
    where = f" ({place})" if place else ""
    kind, target = need.permission.kind, need.permission.target
    return f"Permission denied: {kind} {target!r}, by {rule.text!r}{where}."

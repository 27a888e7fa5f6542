"""Tells, from what was asked, answered and run, which calls of a round ran without leave. It shares no code with
the policy, the judge and the executor: only the analysis of a call and the matching of one rule."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Analyse, Expander, Need, Places
from agent_tui.permissions.rules import Matcher
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall

RAN = ("ran", "failed", "timeout")
_RISKS = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)
_KINDS = {"read": "reader", "faulty": "reader", "mcp__server__probe": "reader", "task": "task"}
_BETWEEN_COMMANDS = re.compile(r"\n|;|&&|\|\|?")


@dataclass(frozen=True)
class Answered:
    """One review: what was asked and what came back."""

    requests: tuple[PermissionRequest, ...]
    verdicts: Mapping[str, Verdict]

    def of(self, call_id: str) -> tuple[PermissionRequest, Verdict | None] | None:
        request = next((one for one in self.requests if one.call_id == call_id), None)
        return (request, self.verdicts.get(call_id)) if request is not None else None

    def lasting(self) -> Iterator[tuple[Permission, PermissionDecision]]:
        """What the person decided for longer than once."""
        for request in self.requests:
            known = {permission.id: permission for permission in request.permissions}
            verdict = self.verdicts.get(request.call_id)
            for one in verdict.permissions if verdict else ():
                lasts = one.scope is not Scope.ONCE and one.pattern
                if lasts and one.decided_by is DecidedBy.PERSON and one.permission_id in known:
                    yield known[one.permission_id], one


@dataclass(frozen=True)
class Ran:
    """A tool that was really started: with which arguments, where, and what it declares to need with these."""

    call_id: str
    tool: str
    arguments_json: str
    cwd: Path
    declared: tuple[Permission, ...] = ()
    foreign: bool = False

    @property
    def arguments(self) -> object:
        return json.loads(self.arguments_json)


Fact = Answered | Ran


@dataclass
class Oracle:
    """Judges rounds under one set of rules. `earlier` holds the reviews of the rounds before, under the same rules."""

    workspace: Path
    home: Path
    rules: Sequence[Rule]
    mode: Mode
    analyse: Analyse
    earlier: list[Answered] = field(default_factory=list[Answered])

    def __post_init__(self) -> None:
        self._expander = Expander(Places(self.workspace, self.home), self.analyse)
        self._matcher = Matcher(self.workspace, self.home)

    def faults(
        self, calls: Sequence[ToolCall], facts: Sequence[Fact], outcomes: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Everything that is wrong with a round; `outcomes` are (call id, effect) as the round gave them."""
        ran = [fact for fact in facts if isinstance(fact, Ran)]
        found = [*self._shape(calls, facts, ran, outcomes)]
        known = {call.call_id: call for call in calls}
        for index, fact in enumerate(facts):
            if isinstance(fact, Ran) and fact.call_id in known:
                found += [
                    f"{fact.call_id}: {why}" for why in self._run(fact, known[fact.call_id], facts, index)
                ]
        return found

    def _shape(
        self,
        calls: Sequence[ToolCall],
        facts: Sequence[Fact],
        ran: Sequence[Ran],
        outcomes: Sequence[tuple[str, str]],
    ) -> Iterator[str]:
        """One result an id in request order, begun in that order, and results that tell what really ran."""
        order = [call.call_id for call in calls]
        if [call_id for call_id, _ in outcomes] != order:
            yield f"results of {[call_id for call_id, _ in outcomes]} for {order}"
        started = [one.call_id for one in ran]
        if len(set(started)) != len(started):
            yield f"a call ran twice: {started}"
        told = {call_id for call_id, effect in outcomes if effect in RAN}
        stopped = {call_id for call_id, effect in outcomes if effect == "cancelled"}
        if not told <= set(started) <= told | stopped:
            yield f"ran {started}, told {list(outcomes)}"
        if not _in_order([one for one in ran if one.call_id in order], order, facts):
            yield f"ran in the order {[(one.call_id, one.tool, one.arguments_json) for one in ran]}"

    def _run(self, ran: Ran, call: ToolCall, facts: Sequence[Fact], index: int) -> Iterator[str]:
        """What is wrong with one call that ran."""
        before = [fact for fact in facts[:index] if isinstance(fact, Answered)]
        answers = [(fact, *pair) for fact in before if (pair := fact.of(ran.call_id)) is not None]
        if any(isinstance(fact, Answered) and fact.of(ran.call_id) for fact in facts[index:]):
            yield "asked about after it ran"
        expected, shown = _parsed(call.arguments_json), True
        for _, request, verdict in answers:
            shown = shown and _parsed(request.arguments_json) == expected
            if verdict is None or _denies(verdict):
                yield "ran although it was denied"
            elif verdict.edited_arguments is not None:
                expected = verdict.edited_arguments
        if ran.tool != call.name or ran.arguments != expected or not shown:
            yield f"ran {ran.tool} {ran.arguments_json}, not {expected}"
        declared = ran.declared or (Permission(id="tool", kind=PermissionKind.TOOL, target=ran.tool),)
        needs, _ = self._expander.expand(ran.tool, declared, ran.cwd)
        for need in needs:
            permission = need.permission
            if why := self._denied(need, ran):
                yield f"{permission.kind} {permission.target!r} ran against {why}"
            elif not (self._is_free(need, ran, before) or self._is_decided(need, answers)):
                given = [verdict.permissions if verdict else () for _, _, verdict in answers]
                yield f"{permission.kind} {permission.target!r} ran without a decision that covers it; there are {given}"

    def _denied(self, need: Need, ran: Ran) -> str:
        denying = [rule for rule in self.rules if rule.effect is Decision.DENY]
        for rule in denying:
            if self._matcher.matches(rule, need.subject) or self._plainly_names(rule, ran):
                return rule.text
        for fact in self.earlier:
            for _, one in fact.lasting():
                if one.decision is Decision.DENY and self._pattern_covers(one.pattern, Decision.DENY, need):
                    return f"the lasting denial of {one.pattern}"
        return ""

    def _plainly_names(self, rule: Rule, ran: Ran) -> bool:
        """Read a rule as a person does, with nothing of the matcher."""
        arguments = ran.arguments
        given: dict[str, object] = arguments if isinstance(arguments, dict) else {}
        at = str((self.workspace / str(given.get("path", ""))).resolve())
        match rule.tool, rule.specifier:
            case "bash", None:
                return ran.tool == "bash"
            case "bash", specifier if specifier:
                word = specifier.removesuffix(" *")
                parts = _BETWEEN_COMMANDS.split(str(given.get("command", "")))
                return ran.tool == "bash" and any(f"{part.strip()} ".startswith(f"{word} ") for part in parts)
            case "edit", specifier:
                return ran.tool == "write" and self._below(specifier, at)
            case "read", specifier:
                return ran.tool == "read" and self._below(specifier, at)
            case tool, _:
                return ran.tool.startswith(tool)

    def _below(self, specifier: str | None, at: str) -> bool:
        return specifier is None or at.startswith(f"{self.workspace}{specifier.removesuffix('**')}")

    def _is_free(self, need: Need, ran: Ran, before: Sequence[Answered]) -> bool:
        """Whether rules, the mode or an earlier lasting answer let it pass, so that nobody had to be asked."""
        permission = need.permission
        asked = any(r.effect is Decision.ASK and self._matcher.matches(r, need.subject) for r in self.rules)
        if asked or need.sealed or need.own:
            return False
        allowing = [rule for rule in self.rules if rule.effect is Decision.ALLOW]
        if need.lasting and any(self._matcher.matches(rule, need.subject) for rule in allowing):
            return True
        for fact in (*self.earlier, *before):
            for offered, one in fact.lasting():
                if one.decision is Decision.ALLOW and offered.pattern and self._granted(one.pattern, need):
                    return True
        match permission.kind:
            case PermissionKind.READ:
                return need.reads_only
            case PermissionKind.EXECUTE:
                return need.reads_only and not need.needs_strong
            case PermissionKind.TOOL:
                return not ran.foreign
            case PermissionKind.WRITE:
                small = need.inside and permission.risk is not Risk.HIGH
                return self.mode is Mode.ACCEPT_EDITS and ran.tool == "write" and small
            case PermissionKind.NETWORK:
                return False

    def _granted(self, pattern: str, need: Need) -> bool:
        return need.lasting and self._pattern_covers(pattern, Decision.ALLOW, need)

    def _pattern_covers(self, pattern: str, effect: Decision, need: Need) -> bool:
        try:
            rule = parse_rule(pattern, effect, Origin(Layer.GRANT, self.workspace))
        except RuleError:
            return False
        return self._matcher.matches(rule, need.subject)

    def _is_decided(
        self, need: Need, answers: Sequence[tuple[Answered, PermissionRequest, Verdict | None]]
    ) -> bool:
        """Whether the person said yes to this very permission of this call, or of the command they put in its place."""
        own_words = any(
            verdict is not None and verdict.edited_arguments is not None for _, _, verdict in answers
        )
        return any(
            self._is_yes(fact, permission, one, need) and _is_the_same(permission, need.permission, own_words)
            for fact, request, verdict in answers
            for permission in request.permissions
            for one in (verdict.permissions if verdict else ())
            if one.permission_id == permission.id
        )

    def _is_yes(self, fact: Answered, asked: Permission, one: PermissionDecision, need: Need) -> bool:
        """A yes of the person, or one that follows from a lasting yes they gave in the same review."""
        if one.decision is not Decision.ALLOW:
            return False
        if one.decided_by is DecidedBy.PERSON:
            return True
        given = {lasting.pattern for _, lasting in fact.lasting() if lasting.decision is Decision.ALLOW}
        if one.decided_by is not DecidedBy.RULE or one.rule is None:
            return False
        pattern = one.rule.text.partition(", allowed for ")[0]
        return pattern in given and (pattern == asked.pattern or self._granted(pattern, need))


def file_faults(
    before: Mapping[Path, str],
    facts: Sequence[Fact],
    outcomes: Sequence[tuple[str, str]],
    *,
    workspace: Path,
    after: Callable[[str, str, Sequence[int] | None], str],
) -> list[str]:
    """Compare the files with what the writes that ran must have left: of each exactly the accepted hunks."""
    wrote = {call_id for call_id, effect in outcomes if effect == "ran"}
    expected, hunks = dict(before), dict[str, tuple[int, ...] | None]()
    for fact in facts:
        if isinstance(fact, Answered):
            hunks |= {
                request.call_id: _hunks(request, fact.verdicts.get(request.call_id))
                for request in fact.requests
            }
        elif fact.tool == "write" and fact.call_id in wrote and isinstance(fact.arguments, dict):
            path = (workspace / fact.arguments["path"]).resolve()
            text = str(fact.arguments.get("text", ""))
            expected[path] = after(expected.get(path, ""), text, hunks.get(fact.call_id))
    return [
        f"{path} holds {path.read_text()!r}, not {text!r}"
        for path, text in expected.items()
        if path.read_text() != text
    ]


def _in_order(ran: Sequence[Ran], order: Sequence[str], facts: Sequence[Fact]) -> bool:
    """Neighbours that only read, or only delegate, may overlap. A call whose base moved waits for the rest."""
    sorted_ran = sorted(ran, key=lambda one: order.index(one.call_id))
    kinds = [_KINDS.get(one.tool, one.call_id) for one in sorted_ran]
    group, places = 0, dict[str, int]()
    for at, one in enumerate(sorted_ran):
        group += at > 0 and kinds[at] != kinds[at - 1]
        places[one.call_id] = group
    went = [places[one.call_id] for one in ran]
    fall = next((at for at in range(1, len(went)) if went[at] < went[at - 1]), len(went))
    approved = {r.call_id for fact in facts if isinstance(fact, Answered) for r in fact.requests}
    may_wait = all(one.call_id in approved or one.tool == "bash" for one in ran[fall:])
    return went[fall:] == sorted(went[fall:]) and may_wait


def _hunks(request: PermissionRequest, verdict: Verdict | None) -> tuple[int, ...] | None:
    """What was taken of a change; hunks of a change that the person rewrote afterwards are none of the new one."""
    edited = verdict.edited_arguments if verdict is not None else None
    if verdict is None or (edited is not None and edited != _parsed(request.arguments_json)):
        return None
    return verdict.accepted_hunks


def _parsed(arguments_json: str) -> object:
    return json.loads(arguments_json or "{}")


def _denies(verdict: Verdict) -> bool:
    refused = any(one.decision is not Decision.ALLOW for one in verdict.permissions)
    return refused or verdict.unasked or verdict.deferred or verdict.accepted_hunks == ()


def _is_the_same(asked: Permission, needed: Permission, own_words: bool) -> bool:
    """The same target; or a command typed by the person, no riskier than the one they were asked about."""
    if asked.kind is not needed.kind:
        return False
    is_command = own_words and needed.kind is PermissionKind.EXECUTE
    return asked.target == needed.target or (
        is_command and _RISKS.index(needed.risk) <= _RISKS.index(asked.risk)
    )

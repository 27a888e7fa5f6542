"""The one place that answers whether a call may run."""

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from agent_tui.permissions.audit import AuditEntry, AuditLog
from agent_tui.permissions.confine import confine, confine_request
from agent_tui.permissions.decide import Judge, Ruling, denial_text, where
from agent_tui.permissions.grammar import Rule, RuleError
from agent_tui.permissions.grants import Clock, Grant, GrantStore, new_grant, utc_now
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Analyse, Expander, Need, Places
from agent_tui.permissions.paths import volume_ignores_case
from agent_tui.permissions.rules import Matcher, RuleBook, Subject
from agent_tui.permissions.shell.model import Part
from agent_tui.protocol.permissions import (
    CommandPart,
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    RuleRef,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall
from agent_tui.sandbox.interface import Confinement, Strength
from agent_tui.toolkit.threads import off_loop

MAX_GRANTS_A_CALL = 5
_RECENT = 200


@dataclass(frozen=True)
class CallReview:
    """What a call needs and what is known about it before a person is asked.

    `permissions` are all, commands expanded; `asking` those that need a person; `denial` is the text for the model
    when the call must not run, "" otherwise. `confinement` holds for a call that needs no person.
    """

    permissions: tuple[Permission, ...]
    decided: tuple[PermissionDecision, ...]
    asking: tuple[Permission, ...]
    parts: tuple[CommandPart, ...]
    denial: str
    confinement: Confinement


@dataclass(frozen=True)
class RecentDecision:
    """One decision of this session, newest last in `Policy.recent`."""

    number: int
    when: datetime
    tool: str
    title: str
    permission: Permission
    decision: PermissionDecision


def no_sandbox() -> Strength:
    """Assume that nothing confines a command."""
    return Strength.NONE


class Policy:
    """Rules, grants, mode and sandbox strength of one run and its open session. All paths are real paths."""

    def __init__(
        self,
        *,
        places: Places,
        grants: GrantStore,
        audit: AuditLog,
        analyse: Analyse,
        book: RuleBook | None = None,
        mode: Mode = Mode.DEFAULT,
        strength: Callable[[], Strength] = no_sandbox,
        session_id: str = "",
        clock: Clock = utc_now,
    ) -> None:
        self.mode = mode
        self.book = book or RuleBook()
        self._places = places
        self._grants = grants
        self._audit = audit
        self._strength = strength
        self._session_id = session_id
        self._clock = clock
        self._session: list[Grant] = []
        self._for_run: set[str] = set()
        self.analyse = analyse
        self._expander = Expander(places, analyse)
        ignores_case = volume_ignores_case(places.project)
        self._matcher = Matcher(places.project, places.home, ignores_case)
        self.recent: deque[RecentDecision] = deque(maxlen=_RECENT)
        self._count = 0
        self._lent: tuple[Rule, ...] = ()

    @contextmanager
    def lending(self, rules: Sequence[Rule]) -> Generator[None]:
        """Let allow rules count for a while, as a command of the person's brings them for its turn."""
        before, self._lent = self._lent, (*self._lent, *rules)
        try:
            yield
        finally:
            self._lent = before

    def review(
        self,
        *,
        tool: str,
        permissions: Sequence[Permission],
        readable: bool,
        needs_approval: bool,
        cwd: Path,
        vouched: str = "",
    ) -> CallReview:
        """Decide what can be decided without a person and write down what was decided for good.

        `vouched` names the hook that would allow the call: it counts for no more than an allow rule of the project.
        """
        review = self.evaluate(
            tool=tool,
            permissions=permissions,
            readable=readable,
            needs_approval=needs_approval,
            cwd=cwd,
            vouched=vouched,
        )
        if review.asking and not vouched:
            return review
        try:
            self._audit.write(self._settled(tool, review))
        except OSError as error:
            return replace(review, denial=f"Permission denied: the audit line cannot be written ({error}).")
        return review

    def evaluate(
        self,
        *,
        tool: str,
        permissions: Sequence[Permission],
        readable: bool,
        needs_approval: bool,
        cwd: Path,
        vouched: str = "",
    ) -> CallReview:
        """Do what `review` does without writing anything down."""
        declared = permissions or self._implied(tool, readable=readable, needs_approval=needs_approval)
        needs, parts = self._expander.expand(tool, declared, cwd)
        judge = self._judge(needs_approval, vouched)
        rulings = [judge.decide(need) for need in needs]
        return self._assemble(needs, rulings, parts)

    def _judge(self, needs_approval: bool, vouched: str = "") -> Judge:
        rules = {effect: self.rules_of(effect) for effect in Decision}
        return Judge(
            matcher=self._matcher,
            rules=rules.__getitem__,
            mode=self.mode,
            strength=self._strength(),
            broken=self._broken(),
            approval=needs_approval,
            vouched=vouched,
        )

    @property
    def asks_nobody(self) -> bool:
        """Whether what would be asked is denied."""
        return self.mode is Mode.DONT_ASK

    def _broken(self) -> str:
        for problem in self.book.problems:
            where = f"{problem.file}:{problem.line}" if problem.line else problem.file
            return f"the rules in {where} cannot be read ({problem.text}), so nothing runs unasked"
        return ""

    def _implied(self, tool: str, *, readable: bool, needs_approval: bool) -> tuple[Permission, ...]:
        """Give the permission that a call without any stands for: the tool itself."""
        pattern = tool if needs_approval else ""
        reason = "a tool that is not built in" if needs_approval else ""
        implied = Permission(id="tool", kind=PermissionKind.TOOL, target=tool, pattern=pattern, reason=reason)
        return () if readable and not needs_approval and not self._names(tool) else (implied,)

    def _names(self, tool: str) -> bool:
        subject = Subject(tool, PermissionKind.TOOL, name=tool)
        listed = (*self.rules_of(Decision.DENY), *self.rules_of(Decision.ASK))
        return self._matcher.first(listed, subject) is not None

    def _assemble(self, needs: list[Need], rulings: list[Ruling], parts: list[Part]) -> CallReview:
        if self.mode is Mode.DONT_ASK:
            rulings = [_unasked(ruling) for ruling in rulings]
        decided = [(n, r) for n, r in zip(needs, rulings, strict=True) if r.decision is not Decision.ASK]
        asking = tuple(
            _explained(n.permission, r)
            for n, r in zip(needs, rulings, strict=True)
            if r.decision is Decision.ASK
        )
        denied = next(((n, r) for n, r in decided if r.decision is Decision.DENY), None)
        decisions = tuple(ruling.as_decision(need) for need, ruling in decided)
        shown = _shown(parts, needs, rulings)
        return CallReview(
            permissions=tuple(need.permission for need in needs),
            decided=decisions,
            asking=() if denied else asking,
            parts=shown,
            denial=denial_text(*denied) if denied else "",
            confinement=confine(project=self._places.project, permissions=(), decided=decisions, parts=shown),
        )

    def rules_of(self, effect: Decision) -> list[Rule]:
        """Give the rules of one list that count now: settings first, then grants."""
        project = self._places.project
        rules = [*self.book.of(effect), *(rule for rule in self._lent if rule.effect is effect)]
        for grant in (*self._grants.holding(project), *self._session):
            if grant.decision is effect and grant.holds(str(project), self._clock()):
                rules.append(grant.as_rule(project=project, file=str(self._grants.path)))
        return rules

    def rules(self) -> Sequence[Rule]:
        """Give every rule that counts now: deny, ask, allow."""
        return [
            rule for effect in (Decision.DENY, Decision.ASK, Decision.ALLOW) for rule in self.rules_of(effect)
        ]

    async def remove(self, rule_id: str) -> Grant | None:
        """Take back the grant with this id; None when no grant has it (a rule of a file is edited there).

        Raises OSError.
        """
        for grant in self._session:
            if grant.grant_id == rule_id:
                self._session.remove(grant)
                return grant
        return await off_loop(lambda: self._grants.remove(rule_id))

    def start_session(self, session_id: str) -> None:
        """Let another session begin: what was granted for the one before, and decided in it, does not count there."""
        self._session_id = session_id
        self.forget_session()
        self.recent.clear()

    def forget_session(self) -> int:
        """Take back every grant of this session but those of the whole run; give how many there were."""
        before = len(self._session)
        self._session = [grant for grant in self._session if grant.grant_id in self._for_run]
        return before - len(self._session)

    async def record(self, request: PermissionRequest, verdict: Verdict, *, edited: bool = False) -> None:
        """Store lasting answers at once and write the audit lines. Raises OSError: then the answer is no.

        `edited` says that the person wrote the arguments of the request.
        """
        by_id = {permission.id: permission for permission in request.permissions}
        answered = [(by_id[d.permission_id], d) for d in verdict.permissions if d.permission_id in by_id]
        lines = [self._entry(request, verdict, p, d, edited=edited) for p, d in answered]
        lasting = [(p, d) for p, d in answered if _lasts(p, d)][:MAX_GRANTS_A_CALL]
        source = f"{request.tool}: {request.title}"
        made = [self._new_grant(p, d, tool=request.tool, source=source) for p, d in lasting]
        grants = [grant for grant in made if grant is not None]
        await off_loop(lambda: self._write(lines, [g for g in grants if g.scope is not Scope.SESSION]))
        for grant in grants:
            if grant.scope is Scope.SESSION:
                self._hold(grant)
        for permission, decision in answered:
            self._remember(request.tool, request.title, permission, decision)

    def _write(self, lines: Sequence[AuditEntry], grants: Sequence[Grant]) -> None:
        """Put audit lines and grants on the disk; waits for it and for other programs. Raises OSError."""
        self._audit.write(lines)
        for grant in grants:
            self._grants.add(grant)

    async def grant(
        self,
        permission: Permission,
        decision: PermissionDecision,
        *,
        tool: str,
        source: str = "",
        for_run: bool = False,
    ) -> Grant | None:
        """Make a lasting answer; None when its pattern is no rule. Raises OSError.

        With `for_run` an answer for the session outlives it and ends with the program.
        """
        grant = self._new_grant(permission, decision, tool=tool, source=source)
        if grant is None or grant.scope is not Scope.SESSION:
            return grant and await off_loop(lambda: self._grants.add(grant))
        held = self._hold(grant)
        if for_run:
            self._for_run.add(held.grant_id)
        return held

    def _new_grant(
        self, permission: Permission, decision: PermissionDecision, *, tool: str, source: str
    ) -> Grant | None:
        """Make a grant without keeping it; None when its pattern is no rule."""
        grant = new_grant(
            decision=decision.decision,
            tool=tool,
            kind=permission.kind,
            pattern=decision.pattern,
            scope=decision.scope,
            project=self._places.project,
            now=self._clock(),
            expires_at=decision.expires_at,
            source=source,
        )
        try:
            grant.as_rule(project=self._places.project, file="")
        except RuleError:
            return None
        return grant

    def _hold(self, grant: Grant) -> Grant:
        """Let a grant count for this session, or give the one that says the same already."""
        known = next((held for held in self._session if held.same_as(grant)), None)
        if known is None:
            self._session.append(grant)
        return known or grant

    async def promote(self, number: int, scope: Scope) -> Grant | None:
        """Make a recent decision last; None when there is none of that number or it offers no lasting answer.

        Raises OSError.
        """
        recent = next((entry for entry in self.recent if entry.number == number), None)
        if recent is None or not recent.permission.pattern:
            return None
        pattern = self.promotes(recent)
        decision = recent.decision.model_copy(update={"scope": scope, "pattern": pattern})
        return await self.grant(
            recent.permission, decision, tool=recent.tool, source=f"{recent.tool}: {recent.title}"
        )

    def promotes(self, recent: RecentDecision) -> str:
        """Give the pattern that `promote` would store, never wider than what was decided; "" when nothing can last."""
        if recent.decision.scope is not Scope.ONCE and recent.decision.pattern:
            return recent.decision.pattern
        return self.offers(recent.permission)

    def offers(self, permission: Permission) -> str:
        """Give the pattern that a lasting answer to this permission alone stores, "" for none."""
        from agent_tui.permissions.batch import narrowest  # with the first question, not at the start

        return narrowest(permission, project=self._places.project)

    def blocked(self, call: ToolCall, *, title: str, reason: str) -> None:
        """Write down that a hook did not let a call pass. Raises OSError."""
        permission = Permission(id="hook", kind=PermissionKind.TOOL, target=title or call.name)
        decision = PermissionDecision(
            permission_id="hook",
            decision=Decision.DENY,
            decided_by=DecidedBy.HOOK,
            rule=RuleRef(text=f"hook: {reason}"),
        )
        line = self._line(call.name, permission, decision)
        digest = hashlib.sha256(call.arguments_json.encode()).hexdigest()
        self._audit.write([replace(line, call_id=call.call_id, args_sha256=digest)])
        self._remember(call.name, title, permission, decision)

    def confinement(self, request: PermissionRequest, verdict: Verdict) -> Confinement:
        """Say what an approved call may touch."""
        return confine_request(request, verdict, project=self._places.project)

    def _remember(self, tool: str, title: str, permission: Permission, decision: PermissionDecision) -> None:
        self._count += 1
        self.recent.append(RecentDecision(self._count, self._clock(), tool, title, permission, decision))

    def _settled(self, tool: str, review: CallReview) -> list[AuditEntry]:
        """Give the lines for a call that needed no person; plain reads of the project are not worth one."""
        by_id = {permission.id: permission for permission in review.permissions}
        worth = [d for d in review.decided if d.decision is Decision.DENY or not _is_built_in(d.rule)]
        if review.asking:  # what rules decided of it is written down once the rest is answered
            worth = [d for d in worth if d.decided_by is DecidedBy.HOOK]
        for decision in worth:
            self._remember(tool, "", by_id[decision.permission_id], decision)
        return [self._line(tool, by_id[decision.permission_id], decision) for decision in worth]

    def _entry(
        self,
        request: PermissionRequest,
        verdict: Verdict,
        permission: Permission,
        decision: PermissionDecision,
        *,
        edited: bool,
    ) -> AuditEntry:
        return replace(
            self._line(request.tool, permission, decision),
            who=(DecidedBy.NOBODY if verdict.unasked else decision.decided_by).value,
            call_id=request.call_id,
            origin=request.origin,
            args_sha256=request.args_sha256,
            feedback=verdict.feedback,
            edited=edited,
        )

    def _line(self, tool: str, permission: Permission, decision: PermissionDecision) -> AuditEntry:
        rule = decision.rule
        return AuditEntry(
            when=self._clock().isoformat(),
            who=decision.decided_by.value,
            decision=decision.decision.value,
            scope=decision.scope.value,
            tool=tool,
            kind=permission.kind.value,
            target=permission.target,
            pattern=decision.pattern,
            offered=permission.pattern,
            rule=where(rule) if rule else "",
            project=str(self._places.project),
            session_id=self._session_id,
        )


def _explained(permission: Permission, ruling: Ruling) -> Permission:
    """Give what waits for a person the reason it waits for."""
    if not ruling.why or ruling.why == permission.reason:
        return permission
    return permission.model_copy(update={"reason": ruling.why})


def _lasts(permission: Permission, decision: PermissionDecision) -> bool:
    """Tell whether an answer is to be kept: an allowance only where one was offered."""
    if decision.scope is Scope.ONCE or not decision.pattern:
        return False
    return bool(permission.pattern) or decision.decision is Decision.DENY


def _is_built_in(rule: RuleRef | None) -> bool:
    return rule is not None and rule.text.startswith("built-in:")


def _unasked(ruling: Ruling) -> Ruling:
    """Turn a question into a denial."""
    if ruling.decision is not Decision.ASK:
        return ruling
    reason = ruling.rule.model_copy(update={"text": f"mode dont-ask: not asked ({ruling.rule.text})"})
    return Ruling(Decision.DENY, DecidedBy.MODE, reason)


def _shown(parts: list[Part], needs: list[Need], rulings: list[Ruling]) -> tuple[CommandPart, ...]:
    """Give each simple command with its verdict; parts of a command that cannot be judged share its verdict."""
    by_part = {need.part: ruling for need, ruling in zip(needs, rulings, strict=True) if need.part >= 0}
    whole = next((r for n, r in zip(needs, rulings, strict=True) if n.unclear), None)
    shown: list[CommandPart] = []
    for index, part in enumerate(parts):
        ruling = by_part.get(index, whole)
        decision = ruling.decision if ruling else Decision.ASK
        shown.append(
            CommandPart(argv=part.argv, decision=decision, why=part.why, rule=ruling.rule if ruling else None)
        )
    return tuple(shown)

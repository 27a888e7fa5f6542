"""The calls that wait for a decision, and what was decided so far. No drawing here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.display import ChangePreview
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionRequest,
    Risk,
    RuleRef,
    Scope,
    Verdict,
)
from agent_tui.ui.screens.approval.grouping import Grouper, PermissionGroup, highest

RowState = Literal["open", "partial", "allowed", "denied"]


@dataclass(eq=False)
class Row:
    """One call that waits. `looked_at` says that its preview was on screen, `read` that all of it was.

    A row that `is_settled` was answered by a rule before anybody was asked: it is shown and never decided.
    """

    request: PermissionRequest
    answered: asyncio.Event
    added_at: float
    is_settled: bool = False
    decisions: dict[str, PermissionDecision] = field(default_factory=dict[str, PermissionDecision])
    bare: Decision | None = None
    feedback: str = ""
    edited: JsonObject | None = None
    hunks: tuple[int, ...] | None = None
    looked_at: bool = False
    read: bool = False
    sent: bool = False

    @property
    def call_id(self) -> str:
        """The call's id."""
        return self.request.call_id

    @property
    def risk(self) -> Risk:
        """The highest risk of its permissions."""
        return highest(self.request.permissions)

    @property
    def state(self) -> RowState:
        """Denied as soon as one permission is, allowed when all are."""
        made = [one.decision for one in self.decisions.values()]
        if self.is_settled:
            return "denied" if self._is_refused else "allowed"
        if self.bare is Decision.DENY or Decision.DENY in made:
            return "denied"
        if self.bare is Decision.ALLOW or (made and len(made) == len(self.request.permissions)):
            return "allowed"
        return "partial" if made else "open"

    @property
    def _is_refused(self) -> bool:
        return any(one.decision is Decision.DENY for one in self.request.decided)

    @property
    def settled_by(self) -> PermissionDecision | None:
        """What answered a settled row: the denial, else the first allowance; None when nothing was needed."""
        decided = self.request.decided
        return next(
            (one for one in decided if one.decision is Decision.DENY), decided[0] if decided else None
        )

    @property
    def is_decided(self) -> bool:
        """Whether it has an answer."""
        return self.state in ("allowed", "denied")

    @property
    def scope(self) -> Scope:
        """The longest scope among its decisions."""
        order = list(Scope)
        return max((one.scope for one in self.decisions.values()), key=order.index, default=Scope.ONCE)

    @property
    def look(self) -> tuple[object, ...]:
        """Everything that can change about it, to be compared."""
        return (tuple(self.decisions.values()), self.bare, self.feedback, self.edited is None, self.hunks)

    @property
    def hunk_count(self) -> int:
        """How many hunks of its change can be chosen separately; 0 for none."""
        preview = self.request.preview
        return preview.hunks if isinstance(preview, ChangePreview) else 0

    def verdict(self) -> Verdict:
        """Give the answer; what is undecided is denied."""
        permissions = tuple(
            self.decisions.get(permission.id)
            or PermissionDecision(permission_id=permission.id, decision=Decision.DENY)
            for permission in self.request.permissions
        )
        if self.bare is Decision.DENY:
            permissions = (PermissionDecision(permission_id="", decision=Decision.DENY),)
        return Verdict(
            call_id=self.call_id,
            permissions=permissions,
            feedback=self.feedback,
            edited_arguments=self.edited,
            accepted_hunks=self.hunks,
        )


class Round:
    """Rows in model order, appended to while the screen is open.

    `rows` wait for a decision; `settled` stand beside them for show, and no method here decides one.
    """

    def __init__(self, grouper: Grouper, clock: Callable[[], float] = time.monotonic) -> None:
        self.rows: list[Row] = []
        self.settled: list[Row] = []
        self.grouper = grouper
        self._clock = clock
        self._places: dict[str, int] = {}
        self._by_id: dict[str, Row] = {}

    def append(
        self,
        requests: Sequence[PermissionRequest],
        answered: asyncio.Event,
        *,
        settled: Sequence[PermissionRequest] = (),
        order: Sequence[str] = (),
    ) -> None:
        """Add the calls of one caller; `answered` is set when all of them are.

        `settled` are shown among them; `order` holds the ids of the caller's whole round.
        """
        now = self._clock()
        for call_id in (*order, *(request.call_id for request in requests)):
            self._places.setdefault(call_id, len(self._places))
        self.rows += [Row(request, answered, now) for request in requests]
        self._by_id = {row.call_id: row for row in self.rows}
        self.settled += [Row(request, answered, now, is_settled=True) for request in settled]

    def listed(self) -> list[Row]:
        """Give all rows as the model sent the calls, settled ones among those that wait."""
        return sorted([*self.rows, *self.settled], key=lambda row: self._places.get(row.call_id, 0))

    def remove(self, call_ids: Iterable[str]) -> None:
        """Take rows out, answered or not; with the last of a caller what was settled beside them."""
        ids = set(call_ids)
        self.rows = [row for row in self.rows if row.call_id not in ids]
        self._by_id = {row.call_id: row for row in self.rows}
        callers = {id(row.answered) for row in self.rows}
        self.settled = [row for row in self.settled if id(row.answered) in callers]

    def find(self, call_id: str) -> Row | None:
        """Give the row of a call that waits."""
        return self._by_id.get(call_id)

    def answers(self, call_ids: Sequence[str]) -> Mapping[str, Verdict]:
        """Give the verdicts of rows that were sent; a call without one is denied."""
        rows = [row for row in self.rows if row.call_id in call_ids and row.sent]
        return {row.call_id: row.verdict() for row in rows}

    def groups(self) -> list[PermissionGroup]:
        """Give the permissions of all rows, joined."""
        return self.grouper.groups([row.request for row in self.rows])

    def counts(self) -> tuple[int, int, int]:
        """Count (allowed, denied, undecided) rows."""
        states = [row.state for row in self.rows]
        allowed, denied = states.count("allowed"), states.count("denied")
        return allowed, denied, len(states) - allowed - denied

    # Deciding

    def decide(self, row: Row, decision: Decision, scope: Scope = Scope.ONCE) -> str:
        """Decide a whole call; give a sentence when it cannot be for longer than once, else ""."""
        if scope is not Scope.ONCE and (why := self._not_lasting(row)):
            return why
        if not row.request.permissions:
            row.bare = decision
        for permission in row.request.permissions:
            self._set(row, permission, decision, scope, permission.pattern)
        return ""

    def _not_lasting(self, row: Row) -> str:
        if not row.request.permissions:
            return "This call names nothing that could be allowed for longer: y allows it once."
        bare = next((one for one in row.request.permissions if not one.pattern), None)
        if bare is None:
            return ""
        why = f" ({bare.reason})" if bare.reason else ""
        return f"This cannot be allowed for longer than once{why}."

    def decide_permission(
        self, row: Row, permission: Permission, decision: Decision, scope: Scope, pattern: str
    ) -> None:
        """Decide one permission of one call."""
        self._set(row, permission, decision, scope, pattern)

    def decide_group(self, chosen: PermissionGroup, decision: Decision, scope: Scope, pattern: str) -> None:
        """Decide a permission for every call that needs it."""
        for call_id, permission in chosen.members:
            if (row := self.find(call_id)) is not None:
                self._set(row, permission, decision, scope, pattern)

    def decide_all(
        self,
        decision: Decision,
        scope: Scope,
        now: float,
        grace_s: float,
        *,
        needs_look: Callable[[Row], bool],
    ) -> int:
        """Decide every undecided row; give how many were skipped because they must be looked at first.

        An allowing key skips HIGH rows that were not looked at, rows `needs_look` names and rows that have just
        come. For longer than once each permission gets a grant of exactly its own pattern, and one without a
        pattern is allowed once.
        """
        skipped = 0
        for row in self.rows:
            if row.is_decided or row.sent:
                continue
            fresh = now - row.added_at < grace_s
            unseen = (row.risk is Risk.HIGH and not row.looked_at) or needs_look(row)
            if decision is Decision.ALLOW and (fresh or unseen):
                skipped += 1
                continue
            if not row.request.permissions:
                row.bare = decision
            for permission in row.request.permissions:
                if permission.id not in row.decisions:
                    lasting = scope if permission.pattern else Scope.ONCE
                    self._set(row, permission, decision, lasting, permission.pattern)
        return skipped

    def clear(self, row: Row) -> None:
        """Take the decisions of a row back."""
        for permission in row.request.permissions:
            self._unset(row, permission)
        row.bare = None

    def _set(self, row: Row, permission: Permission, decision: Decision, scope: Scope, pattern: str) -> None:
        self._unset(row, permission)
        if decision is Decision.ALLOW and not self.grouper.covers(pattern, permission):
            scope = Scope.ONCE  # a pattern that was edited away from this call stores nothing for it
        row.decisions[permission.id] = PermissionDecision(
            permission_id=permission.id,
            decision=decision,
            scope=scope,
            pattern=pattern if scope is not Scope.ONCE else "",
        )
        if scope is not Scope.ONCE:
            self._release(decision, scope, pattern)

    def _unset(self, row: Row, permission: Permission) -> None:
        old = row.decisions.pop(permission.id, None)
        if old is None or old.scope is Scope.ONCE or not old.pattern:
            return
        if any(one.pattern == old.pattern for other in self.rows for one in other.decisions.values()):
            return
        for other in self.rows:
            for released in [p for p, one in other.decisions.items() if _released_by(one, old.pattern)]:
                del other.decisions[released]

    def _release(self, decision: Decision, scope: Scope, pattern: str) -> None:
        for row in self.rows:
            if decision is Decision.ALLOW and row.risk is Risk.HIGH and not row.looked_at:
                continue
            for permission in row.request.permissions:
                if permission.id not in row.decisions and self.grouper.covers(pattern, permission):
                    row.decisions[permission.id] = PermissionDecision(
                        permission_id=permission.id,
                        decision=decision,
                        decided_by=DecidedBy.RULE,
                        rule=RuleRef(text=pattern, file=f"just decided ({scope.value})"),
                    )

    # Sending

    def send_decided(self) -> None:
        """Answer every caller all of whose rows are decided."""
        waiting = {id(row.answered) for row in self.rows if not row.is_decided}
        for row in self.rows:
            if id(row.answered) not in waiting:
                row.sent = True
        for row in self.rows:
            if row.sent:
                row.answered.set()

    def send_all(self) -> None:
        """Answer everybody; what is undecided is denied."""
        for row in self.rows:
            if not row.is_decided:
                self.decide(row, Decision.DENY)
        self.send_decided()

    def give_up(self) -> None:
        """Deny everything and answer everybody."""
        for row in self.rows:
            self.clear(row)
            self.decide(row, Decision.DENY)
        self.send_decided()


def _released_by(decision: PermissionDecision, pattern: str) -> bool:
    return (
        decision.decided_by is DecidedBy.RULE and decision.rule is not None and decision.rule.text == pattern
    )

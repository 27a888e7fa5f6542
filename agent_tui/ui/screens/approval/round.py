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

SCOPE_WORDS = {
    Scope.ONCE: "once",
    Scope.SESSION: "this session",
    Scope.PROJECT: "this project",
    Scope.USER: "every project",
}
RowState = Literal["open", "partial", "allowed", "denied"]


@dataclass(eq=False)
class Row:
    """One call that waits. `looked_at` says that its preview was on screen, `read` that all of it was.

    `patterns` holds what a lasting answer stores for each permission, by its id: never wider than what the list of
    permissions shows for it.
    A row that `is_settled` was answered by a rule before anybody was asked: it is shown and never decided. One that
    is `unasked` is denied because nobody answers any more.
    """

    request: PermissionRequest
    answered: asyncio.Event
    added_at: float
    is_settled: bool = False
    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    decisions: dict[str, PermissionDecision] = field(default_factory=dict[str, PermissionDecision])
    bare: Decision | None = None
    feedback: str = ""
    edited: JsonObject | None = None
    hunks: tuple[int, ...] | None = None
    looked_at: bool = False
    read: bool = False
    sent: bool = False
    unasked: bool = False

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
        """How many hunks of its change can be chosen separately; 0 for none, as of a call that the person edited."""
        preview = self.request.preview if self.edited is None else None
        return preview.hunks if isinstance(preview, ChangePreview) else 0

    def pattern_of(self, permission: Permission) -> str:
        """Give what a lasting answer stores for one of its permissions, "" when it can be answered once only."""
        return self.patterns.get(permission.id, permission.pattern)

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
            unasked=self.unasked,
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
        self._know_rows()
        self.settled += [Row(request, answered, now, is_settled=True) for request in settled]

    def listed(self) -> list[Row]:
        """Give all rows as the model sent the calls, settled ones among those that wait."""
        return sorted([*self.rows, *self.settled], key=lambda row: self._places.get(row.call_id, 0))

    def remove(self, call_ids: Iterable[str]) -> None:
        """Take rows out, answered or not; with the last of a caller what was settled beside them."""
        ids = set(call_ids)
        self.rows = [row for row in self.rows if row.call_id not in ids]
        self._know_rows()
        callers = {id(row.answered) for row in self.rows}
        self.settled = [row for row in self.settled if id(row.answered) in callers]

    def _know_rows(self) -> None:
        self._by_id = {row.call_id: row for row in self.rows}
        known = self.grouper.lasting([row.request for row in self.rows])
        for row in self.rows:
            row.patterns = {one.id: known[row.call_id, one.id] for one in row.request.permissions}

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

    def undecided(self) -> list[Row]:
        """Give the rows that have no answer yet."""
        return [row for row in self.rows if not row.is_decided]

    # Deciding

    def decide(self, row: Row, decision: Decision, scope: Scope = Scope.ONCE) -> str:
        """Decide a whole call; give a sentence when it cannot be for longer than once, else ""."""
        if scope is not Scope.ONCE and (why := self._not_lasting(row)):
            return why
        if not row.request.permissions:
            row.bare = decision
        for permission in row.request.permissions:
            self._set(row, permission, decision, scope, row.pattern_of(permission))
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

    def allows(self, chosen: PermissionGroup) -> bool:
        """Tell whether a joined permission is allowed for every call that needs it."""
        rows = [(self.find(call_id), permission.id) for call_id, permission in chosen.members]
        made = [row.decisions.get(permission_id) for row, permission_id in rows if row is not None]
        return all(one is not None and one.decision is Decision.ALLOW for one in made)

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
        come. For longer than once each permission gets a grant of exactly the pattern that is shown for it, and one
        without a pattern is allowed once.
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
                    pattern = row.pattern_of(permission)
                    self._set(row, permission, decision, scope if pattern else Scope.ONCE, pattern)
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
            self._release(row.decisions[permission.id])

    def _unset(self, row: Row, permission: Permission) -> None:
        old = row.decisions.pop(permission.id, None)
        if old is None or old.scope is Scope.ONCE or not old.pattern:
            return
        if any(one.pattern == old.pattern for other in self.rows for one in other.decisions.values()):
            return
        for other in self.rows:
            for released in [p for p, one in other.decisions.items() if one.rule == _just_decided(old)]:
                del other.decisions[released]

    def _release(self, made: PermissionDecision) -> None:
        for row in self.rows:
            if made.decision is Decision.ALLOW and row.risk is Risk.HIGH and not row.looked_at:
                continue
            for permission in row.request.permissions:
                if permission.id not in row.decisions and self.grouper.covers(made.pattern, permission):
                    row.decisions[permission.id] = PermissionDecision(
                        permission_id=permission.id,
                        decision=made.decision,
                        decided_by=DecidedBy.RULE,
                        rule=_just_decided(made),
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

    def give_up(self, *, unasked: bool = False) -> None:
        """Deny everything and answer everybody; `unasked` says that no person did so."""
        for row in self.rows:
            self.clear(row)
            row.unasked = unasked
            self.decide(row, Decision.DENY)
        self.send_decided()


def _just_decided(made: PermissionDecision) -> RuleRef:
    """Name a lasting decision that answers other calls of the round."""
    verb = "allowed" if made.decision is Decision.ALLOW else "denied"
    return RuleRef(text=f"{made.pattern}, {verb} for {SCOPE_WORDS[made.scope]} just now")

"""Fakes for tests of tools and of the core: a context, an approver, a sink, a journal."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.events import Event
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.messages import AssistantMessage, UserMessage
from agent_tui.protocol.permissions import (
    Decision,
    PermissionDecision,
    PermissionRequest,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome
from agent_tui.sandbox.interface import NoSandbox
from agent_tui.toolkit.context import ShellState, TodoList, ToolContext
from agent_tui.toolkit.tracker import FileTracker


def make_context(workspace: Path, *, call_id: str = "c0", data_dir: Path | None = None) -> ToolContext:
    """Give a context for one call in `workspace`: no sandbox, no person, no web.

    `data_dir` defaults to a folder beside the workspace named `<workspace>-data`, which is created.
    """
    real = workspace.resolve()
    data = data_dir or real.with_name(f"{real.name}-data")
    data.mkdir(parents=True, exist_ok=True)
    return ToolContext(
        call_id=call_id,
        turn_id="t0",
        session_id="s0",
        workspace=real,
        files=FileTracker(),
        sandbox=NoSandbox(),
        shell=ShellState(cwd=real),
        todos=TodoList(),
        data_dir=data,
    )


class RecordingSink:
    """Keeps every event; `until` waits for one of a type."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Condition()

    async def __call__(self, event: Event) -> None:
        """Keep `event`."""
        async with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    async def until(self, kind: type, *, count: int = 1, timeout_s: float = 10.0) -> list[Event]:
        """Wait until `count` events of `kind` came and give them. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(lambda: len(self.of(kind)) >= count)
            return self.of(kind)

    def of(self, kind: type) -> list[Event]:
        """Give the events of `kind` so far."""
        return [event for event in self.events if isinstance(event, kind)]


class ScriptedApprover:
    """Answers reviews by call id and remembers what it was asked.

    Ids in `deny` are denied (with `feedback`), ids in `always` are allowed with `scope`, the rest is allowed once.
    `missing` ids get no answer. `before` runs at each review, before the answer.
    """

    def __init__(
        self,
        *,
        deny: Sequence[str] = (),
        always: Sequence[str] = (),
        missing: Sequence[str] = (),
        scope: Scope = Scope.SESSION,
        feedback: Mapping[str, str] | None = None,
        before: Callable[[Sequence[PermissionRequest]], None] | None = None,
    ) -> None:
        self.asked: list[list[str]] = []
        self.requests: list[PermissionRequest] = []
        self._deny, self._always, self._missing = set(deny), set(always), set(missing)
        self._scope = scope
        self._feedback = dict(feedback or {})
        self._before = before

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Answer at once."""
        self.asked.append([request.call_id for request in requests])
        self.requests.extend(requests)
        if self._before is not None:
            self._before(requests)
        return {r.call_id: self._verdict(r) for r in requests if r.call_id not in self._missing}

    def _verdict(self, request: PermissionRequest) -> Verdict:
        denied = request.call_id in self._deny
        lasting = request.call_id in self._always
        return Verdict(
            call_id=request.call_id,
            permissions=tuple(
                PermissionDecision(
                    permission_id=permission.id,
                    decision=Decision.DENY if denied else Decision.ALLOW,
                    scope=self._scope if lasting else Scope.ONCE,
                    pattern=permission.pattern if lasting else "",
                )
                for permission in request.permissions
            ),
            feedback=self._feedback.get(request.call_id, ""),
        )


class RecordingJournal(Journal):
    """Keeps what was written down as (record, facts), in order.

    `fail` names records that cannot be written: they raise OSError.
    """

    def __init__(self, *, fail: Sequence[str] = ()) -> None:
        self.records: list[tuple[str, object]] = []
        self.fail = set(fail)

    def kinds(self) -> list[str]:
        """Give the names of the records so far."""
        return [kind for kind, _ in self.records]

    def outcomes(self) -> list[ToolCallOutcome]:
        """Give the outcomes in the order they were written."""
        return [fact for _, fact in self.records if isinstance(fact, ToolCallOutcome)]

    async def user_message(self, message: UserMessage, *, turn_id: str, text: str) -> None:
        self._keep("user_message", message)

    async def assistant_message(self, message: AssistantMessage, *, turn_id: str) -> None:
        self._keep("assistant_message", message)

    async def round_started(self, calls: Sequence[ToolCall], *, turn_id: str) -> None:
        self._keep("round_started", tuple(calls))

    async def approval_requested(self, requests: Sequence[PermissionRequest], *, turn_id: str) -> None:
        self._keep("approval_requested", tuple(requests))

    async def approval_decided(self, verdicts: Sequence[Verdict], *, turn_id: str) -> None:
        self._keep("approval_decided", tuple(verdicts))

    async def outcome(self, outcome: ToolCallOutcome, *, turn_id: str) -> None:
        self._keep("outcome", outcome)

    async def round_finished(self, message: UserMessage, *, turn_id: str) -> None:
        self._keep("round_finished", message)

    async def compacted(
        self, messages: Sequence[UserMessage | AssistantMessage], *, turn_id: str, summary: str
    ) -> None:
        self._keep("compacted", tuple(messages))

    async def turn_finished(self, *, turn_id: str, stop_reason: str) -> None:
        self._keep("turn_finished", stop_reason)

    def _keep(self, kind: str, fact: object) -> None:
        if kind in self.fail:
            raise OSError(f"no space left for {kind}")
        self.records.append((kind, fact))

"""What the core writes down as it goes; a session file implements it."""

from collections.abc import Sequence
from typing import Protocol

from agent_tui.protocol.messages import AssistantMessage, UserMessage
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome


class Journal(Protocol):
    """An append-only record. Each method returns when the record is durable enough for what follows.

    A method that raises stops what was about to happen: an approval that cannot be written is a no.
    """

    async def user_message(self, message: UserMessage, *, turn_id: str, text: str) -> None:
        """Record a prompt (`text` as typed, `message` as sent); synced to disk before the request is sent."""
        ...

    async def assistant_message(self, message: AssistantMessage, *, turn_id: str) -> None:
        """Record a finished reply."""
        ...

    async def round_started(self, calls: Sequence[ToolCall], *, turn_id: str) -> None:
        """Record the calls of a reply before any of them is prepared."""
        ...

    async def approval_requested(self, requests: Sequence[PermissionRequest], *, turn_id: str) -> None:
        """Record what is about to be asked; before the screen opens."""
        ...

    async def approval_decided(self, verdicts: Sequence[Verdict], *, turn_id: str) -> None:
        """Record the answers; before a tool runs."""
        ...

    async def outcome(self, outcome: ToolCallOutcome, *, turn_id: str) -> None:
        """Record one call's answer as it is known."""
        ...

    async def round_finished(self, message: UserMessage, *, turn_id: str) -> None:
        """Record the message that carries all results of the round."""
        ...

    async def compacted(
        self, messages: Sequence[UserMessage | AssistantMessage], *, turn_id: str, summary: str
    ) -> None:
        """Record the history that replaces the one so far."""
        ...

    async def turn_finished(self, *, turn_id: str, stop_reason: str) -> None:
        """Record how the turn ended; synced to disk."""
        ...


class NullJournal:
    """Keeps nothing; for one-shot runs and tests."""

    async def user_message(self, message: UserMessage, *, turn_id: str, text: str) -> None: ...
    async def assistant_message(self, message: AssistantMessage, *, turn_id: str) -> None: ...
    async def round_started(self, calls: Sequence[ToolCall], *, turn_id: str) -> None: ...
    async def approval_requested(self, requests: Sequence[PermissionRequest], *, turn_id: str) -> None: ...
    async def approval_decided(self, verdicts: Sequence[Verdict], *, turn_id: str) -> None: ...
    async def outcome(self, outcome: ToolCallOutcome, *, turn_id: str) -> None: ...
    async def round_finished(self, message: UserMessage, *, turn_id: str) -> None: ...
    async def compacted(
        self, messages: Sequence[UserMessage | AssistantMessage], *, turn_id: str, summary: str
    ) -> None: ...
    async def turn_finished(self, *, turn_id: str, stop_reason: str) -> None: ...

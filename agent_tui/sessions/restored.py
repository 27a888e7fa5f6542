"""What a session file says of its conversation, and what of it a person must know."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.messages import AssistantMessage, TokenUsage, UserMessage
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.protocol.tools import ToolCallOutcome


@dataclass
class Restored:
    """What a session file says of its conversation.

    `pending` are approvals that were asked and not answered: their calls never ran. `interrupted` says that the last turn
    has no end; `unanswered` names its calls without a result. `usage` sums all recorded replies. `unread` counts
    records that this program could not understand. `known` are the outcomes of an open last reply, by call id.
    """

    messages: list[UserMessage | AssistantMessage] = field(
        default_factory=list[UserMessage | AssistantMessage]
    )
    todos: tuple[JsonObject, ...] = ()
    summaries: dict[str, str] = field(default_factory=dict[str, str])
    pending: tuple[PermissionRequest, ...] = ()
    interrupted: bool = False
    unanswered: tuple[str, ...] = ()
    usage: TokenUsage = TokenUsage()
    unread: int = 0
    known: dict[str, ToolCallOutcome] = field(default_factory=dict[str, ToolCallOutcome])


def explain(restored: Restored, damaged_lines: Sequence[int] = ()) -> list[str]:
    """Give the sentences a person must know about a session that was opened again; [] when all is well."""
    said: list[str] = []
    if damaged_lines:
        lines = ", ".join(map(str, damaged_lines[:5])) + (" ..." if len(damaged_lines) > 5 else "")
        said.append(f"{len(damaged_lines)} damaged record(s) were skipped (line {lines}); the rest is there.")
    if restored.unread:
        said.append(f"{restored.unread} record(s) could not be understood and were skipped.")
    if restored.pending:
        names = ", ".join(request.display_name or request.tool for request in restored.pending)
        said.append(
            f"Approvals were open when the session ended; nothing of it was run: {names}. "
            "/pending asks about them again, 'agent-tui approvals' answers them from outside."
        )
    elif restored.interrupted:
        names = "; ".join(restored.unanswered)
        said.append(
            "The last turn was interrupted"
            + (f" while these calls had no result: {names}" if names else "")
            + ". Say 'continue' to go on."
        )
    return said

"""Calls, results and outcomes of tools."""

from typing import Literal

from agent_tui.protocol.data import Data, JsonObject
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.messages import AssistantMessage, ImageBlock, StopReason, TokenUsage, UserMessage
from agent_tui.protocol.permissions import PermissionRequest


class ToolSpec(Data):
    """What the model is told of a tool. `input_schema` is a JSON schema of type object."""

    name: str
    description: str
    input_schema: JsonObject


class ToolCall(Data):
    """One call of a round. `call_id` is the provider's id; `arguments_json` is what will be parsed and run."""

    call_id: str
    name: str
    arguments_json: str = "{}"


class ToolResult(Data):
    """What a tool returns. `output` is for the model, `data` are facts for display and replay."""

    output: str
    is_error: bool = False
    data: JsonObject = {}
    images: tuple[ImageBlock, ...] = ()

    @classmethod
    def success(
        cls, text: str, *, data: JsonObject | None = None, images: tuple[ImageBlock, ...] = ()
    ) -> "ToolResult":
        """Give a result that went well. `data` is as in the class; None is none."""
        return cls(output=text, data=data or {}, images=images)

    @classmethod
    def error(cls, text: str, *, data: JsonObject | None = None) -> "ToolResult":
        """Give a result the model should react to. `data` is as in the class; None is none."""
        return cls(output=text, is_error=True, data=data or {})


Effect = Literal[
    "ran", "failed", "timeout", "denied", "cancelled", "invalid", "unknown_tool", "not_run", "pending"
]
"""How a call ended: `ran` and `failed` are the tool's own answers, the rest came from the round."""


class ToolCallOutcome(Data):
    """The one answer that every call of a round gets.

    `call` holds the repaired name and the arguments that were used; `tool_name` is the same name. `summary` is
    the bracketed line that replaces the result when the context is compacted. `elapsed_s` is 0 when nothing ran.
    """

    tool_use_id: str
    tool_name: str
    call: ToolCall
    result: ToolResult
    display: DisplayResult
    display_name: str = ""
    title: str = ""
    summary: str = ""
    elapsed_s: float = 0.0
    effect: Effect = "ran"


class BatchResult(Data):
    """Outcomes of a whole round, one per call, in request order.

    `pending` are the requests that were put off; their calls have no result yet. `cancelled` says that a person
    stopped the round.
    """

    outcomes: tuple[ToolCallOutcome, ...]
    pending: tuple[PermissionRequest, ...] = ()
    cancelled: bool = False


TurnStop = StopReason | Literal["cancelled", "failed", "pending_approvals", "round_limit", "budget"]


class TurnResult(Data):
    """What one turn came to. `usage` sums every request, also of a turn that failed or was cancelled.

    `structured` is the answer to a schema, None without one. `cost_usd` is None when a price is not known.
    `pending_approvals` wait for an answer from elsewhere. `denied_unasked` counts calls that were denied only because
    nobody could be asked. `prompt_returned` says that the turn ended before anything came of its prompt, which stands
    nowhere in the conversation.
    """

    messages: tuple[UserMessage | AssistantMessage, ...] = ()
    usage: TokenUsage = TokenUsage()
    stop_reason: TurnStop = "end_turn"
    pending_approvals: tuple[PermissionRequest, ...] = ()
    structured: JsonObject | None = None
    cost_usd: float | None = None
    error: str = ""
    denied_unasked: int = 0
    prompt_returned: bool = False

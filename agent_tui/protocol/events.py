"""Facts that the core tells the screen and the stream, in past tense and as plain data."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from pydantic import Field

from agent_tui.protocol.data import Data
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.messages import AssistantMessage, TokenUsage
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.protocol.tools import Effect, ToolCall, TurnStop


class TurnEvent(Data):
    """What every event carries. `origin` is "" for the main agent, else the call id of the `task` that runs it."""

    turn_id: str
    origin: str = ""


class TurnStarted(TurnEvent):
    """A prompt was accepted and is on disk. `images` holds a line for each image that went along."""

    type: Literal["turn_started"] = "turn_started"
    prompt: str
    images: tuple[str, ...] = ()


class TextDelta(TurnEvent):
    """More text of the reply that is being streamed."""

    type: Literal["text_delta"] = "text_delta"
    text: str


class ThinkingDelta(TurnEvent):
    """More of the model's reasoning."""

    type: Literal["thinking_delta"] = "thinking_delta"
    text: str


class AssistantFinished(TurnEvent):
    """A whole reply was received and recorded."""

    type: Literal["assistant_finished"] = "assistant_finished"
    message: AssistantMessage


class RoundStarted(TurnEvent):
    """The tool calls of one reply are about to be prepared, in request order."""

    type: Literal["round_started"] = "round_started"
    round_index: int
    calls: tuple[ToolCall, ...]


class ApprovalRequested(TurnEvent):
    """A review is about to open; the requests are on disk.

    `settled` are the calls of the round that rules, grants or the mode answered, for show: they ask for nothing
    (`permissions` is empty, `decided` says by what) and no approver ever gets them. `order` holds the call ids of
    the whole round as the model sent them.
    """

    type: Literal["approval_requested"] = "approval_requested"
    requests: tuple[PermissionRequest, ...]
    settled: tuple[PermissionRequest, ...] = ()
    order: tuple[str, ...] = ()


class ApprovalDecided(TurnEvent):
    """A review was answered; the verdicts are on disk."""

    type: Literal["approval_decided"] = "approval_decided"
    verdicts: tuple[Verdict, ...]


class ToolStarted(TurnEvent):
    """A tool begins to run. A call that never runs has no such event."""

    type: Literal["tool_started"] = "tool_started"
    call_id: str
    tool: str
    display_name: str
    title: str
    arguments_json: str = "{}"


class ToolOutput(TurnEvent):
    """Live output of a running tool, as it came."""

    type: Literal["tool_output"] = "tool_output"
    call_id: str
    text: str


class ToolFinished(TurnEvent):
    """A started tool ended. `output` is what the model will read."""

    type: Literal["tool_finished"] = "tool_finished"
    call_id: str
    tool: str
    display_name: str
    title: str
    is_error: bool
    output: str
    display: DisplayResult
    summary: str = ""
    elapsed_s: float = 0.0
    effect: Effect = "ran"


class ToolDenied(TurnEvent):
    """A call was answered without running: denied, invalid, unknown, cancelled or not reached."""

    type: Literal["tool_denied"] = "tool_denied"
    call_id: str
    tool: str
    display_name: str
    title: str
    reason: str
    effect: Effect = "denied"


class Retrying(TurnEvent):
    """A request failed and will be sent again after `wait_s` seconds.

    `attempt` is the number of the one that failed, from 1; `max_attempts` counts the first one too.
    """

    type: Literal["retrying"] = "retrying"
    attempt: int
    max_attempts: int
    wait_s: float
    reason: str


class Compacted(TurnEvent):
    """Older messages were replaced; `summary` is what was put in their place.

    `tokens_before` and `tokens_after` are estimates of the whole context.
    """

    type: Literal["compacted"] = "compacted"
    tokens_before: int
    tokens_after: int
    summary: str = ""


class Notice(TurnEvent):
    """A sentence for the person that belongs to no tool, such as a repaired history or a stale preview.

    `returned` is what the person had typed and what was not sent: it is theirs again.
    """

    type: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"] = "info"
    text: str
    returned: str = ""


class Usage(TurnEvent):
    """Tokens of one request, also of one that was cut, stopped or lost and counted by the server all the same.

    `cost_usd` is None when the model's price is not known. `context_tokens` is what the conversation held with it.
    """

    type: Literal["usage"] = "usage"
    usage: TokenUsage
    cost_usd: float | None = None
    context_tokens: int = 0
    context_limit_tokens: int = 0


class TurnFinished(TurnEvent):
    """The turn ended by itself. `usage` and `cost_usd` sum all its requests; `cost_usd` is None when a price is not known."""

    type: Literal["turn_finished"] = "turn_finished"
    stop_reason: TurnStop
    usage: TokenUsage
    cost_usd: float | None = None
    elapsed_s: float = 0.0


class TurnFailed(TurnEvent):
    """The turn ended by an error; the session takes the next one.

    `prompt_returned` says that the prompt stands nowhere in the conversation and goes back; `returned` is what the
    person had typed of it, "" in a turn of a sub-agent.
    """

    type: Literal["turn_failed"] = "turn_failed"
    error: str
    usage: TokenUsage = TokenUsage()
    prompt_returned: bool = False
    returned: str = ""


class TurnCancelled(TurnEvent):
    """The person stopped the turn. `prompt_returned` says that nothing had begun and the prompt goes back as `returned`."""

    type: Literal["turn_cancelled"] = "turn_cancelled"
    usage: TokenUsage = TokenUsage()
    prompt_returned: bool = False
    returned: str = ""


Event = Annotated[
    TurnStarted
    | TextDelta
    | ThinkingDelta
    | AssistantFinished
    | RoundStarted
    | ApprovalRequested
    | ApprovalDecided
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | ToolDenied
    | Retrying
    | Compacted
    | Notice
    | Usage
    | TurnFinished
    | TurnFailed
    | TurnCancelled,
    Field(discriminator="type"),
]
"""Any event. `type` tells them apart, in Python by `match` on the classes, in JSON by its text."""

EventSink = Callable[[Event], Awaitable[None]]
"""Where the core tells its events; it is awaited, so a slow reader slows the core, nothing is dropped."""

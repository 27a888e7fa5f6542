"""The state of one running turn."""

import time
from dataclasses import dataclass, field

from agent_tui.agent.guard import LoopGuard
from agent_tui.agent.stop import StopSwitch
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.messages import AssistantMessage, TokenUsage, UserMessage
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.protocol.tools import ToolCallOutcome, TurnResult, TurnStop


@dataclass
class Turn:
    """What a turn has come to so far.

    `prompt` is what is shown of the prompt, "" for a turn that goes on without; `typed` is what the person
    wrote for it, "" in a turn of a sub-agent. `prompt_at` is its place in the conversation once it stands
    there, `returned` says that it was taken out again. `began` says that the model had begun to answer. `shown`
    is the text of a reply whose stream was cut, `cuts` how often that happened in a row. `room_tokens` is the
    raised limit of a reply after one ran out of room, `room_tries` how often in a row. `go_ons` counts how
    often hooks kept it going. `plain` sends no attachments. `refused_tools` are left out of its requests
    because the server would not take them.
    """

    turn_id: str
    guard: LoopGuard
    prompt: str = ""
    typed: str = ""
    prompt_at: int | None = None
    returned: bool = False
    switch: StopSwitch = field(default_factory=StopSwitch)
    started_at: float = field(default_factory=time.monotonic)
    messages: list[UserMessage | AssistantMessage] = field(
        default_factory=list[UserMessage | AssistantMessage]
    )
    usage: TokenUsage = TokenUsage()
    cost_usd: float | None = 0.0
    requests: int = 0
    rounds: int = 0
    rounds_allowed: int = 0
    began: bool = False
    shown: str = ""
    cuts: int = 0
    pauses: int = 0
    room_tokens: int = 0
    room_tries: int = 0
    overflowed: bool = False
    plain: bool = False
    refused_tools: set[str] = field(default_factory=set[str])
    respond_tries: int = 0
    refused_loops: int = 0
    go_ons: int = 0
    denied_unasked: int = 0
    structured: JsonObject | None = None
    pending: tuple[PermissionRequest, ...] = ()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the turn began."""
        return time.monotonic() - self.started_at

    def spent(self, usage: TokenUsage, cost_usd: float | None) -> None:
        """Count one request."""
        self.usage = self.usage + usage
        self.cost_usd = None if cost_usd is None or self.cost_usd is None else self.cost_usd + cost_usd

    def count_unasked(self, outcomes: tuple[ToolCallOutcome, ...]) -> None:
        """Count the calls that were denied only because nobody could be asked."""
        self.denied_unasked += sum(
            outcome.effect == "denied" and outcome.result.data.get("unasked") is True for outcome in outcomes
        )

    def result(self, stop_reason: TurnStop, *, error: str = "", prompt_returned: bool = False) -> TurnResult:
        """Give the turn's result."""
        return TurnResult(
            messages=tuple(self.messages),
            usage=self.usage,
            stop_reason=stop_reason,
            pending_approvals=self.pending,
            structured=self.structured,
            cost_usd=self.cost_usd,
            error=error,
            denied_unasked=self.denied_unasked,
            prompt_returned=prompt_returned,
        )

"""Shows a running turn: every event of the core becomes a call on the transcript, which draws at its own pace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from agent_tui.protocol.call_names import plain_name, plain_title
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.events import (
    ApprovalDecided,
    ApprovalRequested,
    AssistantFinished,
    Compacted,
    Event,
    Notice,
    Retrying,
    RoundStarted,
    TextDelta,
    ThinkingDelta,
    ToolDenied,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Usage,
)
from agent_tui.protocol.messages import TextBlock
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.protocol.replay import ReplayBlock, ToolState
from agent_tui.protocol.tools import Effect
from agent_tui.ui.commands.registry import Level
from agent_tui.ui.commands.reports import tokens
from agent_tui.ui.decisions import decision_line
from agent_tui.ui.widgets.activity import LEFT

if TYPE_CHECKING:
    from agent_tui.ui.transcript.view import Transcript

StreamKind = Literal["assistant", "thinking"]
_UNANSWERED = ("waiting", "interrupted")
UNSETTLED = "The turn ended before this call had a result. Parts of it may have run."

_ENDS: dict[str, tuple[Level, str]] = {
    "max_tokens": ("warning", "The reply was cut: it reached the longest the model may write."),
    "refusal": ("warning", "The model declined to answer."),
    "context_overflow": ("error", "The conversation no longer fits the model's window. /compact makes room."),
    "round_limit": ("warning", "The turn was stopped at its limit of rounds. Send a message to go on."),
    "budget": ("warning", "The turn was stopped at the budget that was set."),
    "pending_approvals": ("info", "Approvals are pending; nothing of the round has run."),
}


def turn_end(stop_reason: str) -> tuple[Level, str] | None:
    """Say why a turn ended, None where the reply says enough."""
    return _ENDS.get(stop_reason)


class TurnHost(Protocol):
    """What showing a turn needs of the program."""

    def notice(self, level: Level, text: str) -> None: ...

    def working_on(self, word: str, *, wait_s: float = 0.0) -> None:
        """Say what goes on, in a word or two."""
        ...

    def refresh_status(self) -> None: ...

    def give_back(self, prompt: str) -> None:
        """Put what was typed and not sent back, unless something else was written meanwhile."""
        ...


class TurnView:
    """The event sink of the screen. Sub-agents show as lines in the panel of the call that runs them."""

    def __init__(self, transcript: Transcript, host: TurnHost) -> None:
        self._transcript = transcript
        self._host = host
        self._stream: tuple[StreamKind, int] | None = None
        self._streamed = False
        self._unsettled: dict[str, None] = {}  # panels without a result, in their order
        self._requests: dict[str, PermissionRequest] = {}

    def forget(self) -> None:
        """Start anew, for another session."""
        self._stream, self._streamed = None, False
        self._unsettled, self._requests = {}, {}

    def settle(self) -> None:
        """Say of every call without a result that the turn ended before it had one. Cheap to call again."""
        unsettled, self._unsettled = self._unsettled, {}
        for call_id in unsettled:
            self._transcript.append_output(call_id, UNSETTLED)  # below what it has printed
            self._transcript.update_tool(call_id, state="interrupted")

    async def __call__(self, event: Event) -> None:
        """Take one event."""
        match event:
            case TextDelta():
                self._delta("assistant", event.text, event.origin)
            case ThinkingDelta():
                self._delta("thinking", event.text, event.origin)
            case ToolOutput():
                self._tool_output(event)
            case _:
                self._fact(event)

    def _fact(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self._turn_started(event)
            case AssistantFinished():
                self._assistant_finished(event)
            case RoundStarted():
                self._round_started(event)
            case ApprovalRequested():
                self._approval_requested(event)
            case ApprovalDecided():
                self._approval_decided(event)
            case ToolStarted():
                self._tool_started(event)
            case ToolFinished():
                self._tool_finished(event)
            case ToolDenied():
                self._tool_denied(event)
            case Retrying():
                self._host.working_on(_retrying(event), wait_s=event.wait_s)
            case Compacted():
                self._compacted(event)
            case Notice():
                self._host.notice(event.level, event.text)
                self._give_back(event.returned)
                self._host.refresh_status()
            case Usage():
                self._host.refresh_status()
            case TurnFinished() | TurnFailed() | TurnCancelled():
                self._turn_ended(event)
            case _:
                pass  # deltas and output were taken before

    def _compacted(self, event: Compacted) -> None:
        if event.origin:  # a sub-agent's context is not the one the person sees
            return
        sizes = f"{tokens(event.tokens_before)} to {tokens(event.tokens_after)} tokens"
        self._host.notice("info", f"The context was compacted from {sizes}.")

    # Text

    def _delta(self, kind: StreamKind, text: str, origin: str) -> None:
        if origin or not text:
            return
        if self._stream is None or self._stream[0] != kind:
            self._end_stream()
            self._stream = (kind, self._transcript.stream_start(kind))
            self._host.working_on("Thinking" if kind == "thinking" else "Writing")
        if kind == "assistant":
            self._streamed = True
        self._transcript.stream_append(self._stream[1], text)

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._transcript.stream_end(self._stream[1])
            self._stream = None

    def _forget_stream(self) -> None:
        self._end_stream()
        self._streamed = False

    def _assistant_finished(self, event: AssistantFinished) -> None:
        if event.origin:
            return
        self._host.refresh_status()
        self._end_stream()
        if not self._streamed:
            text = "".join(block.text for block in event.message.content if isinstance(block, TextBlock))
            if text.strip():
                self._transcript.add(ReplayBlock(kind="assistant", text=text))
        self._streamed = False

    # Tools

    def _round_started(self, event: RoundStarted) -> None:
        if event.origin:
            return
        self._host.working_on("Preparing")
        for call in event.calls:
            state = self._transcript.tool_state(call.call_id)
            if state is not None and state not in _UNANSWERED:
                continue  # it has its result from before a pause
            self._unsettled[call.call_id] = None
            if state is not None:
                self._transcript.update_tool(call.call_id, state="waiting", text="")
                continue
            self._transcript.add(
                ReplayBlock(
                    kind="tool",
                    text="",
                    call_id=call.call_id,
                    tool=call.name,
                    display_name=plain_name(call.name),
                    title=plain_title(call.arguments_json),
                    state="waiting",
                )
            )

    def _panel(self, call_id: str, tool: str, display_name: str, title: str) -> None:
        if self._transcript.document.call(call_id) is not None:
            return
        self._transcript.add(
            ReplayBlock(
                kind="tool", text="", call_id=call_id, tool=tool, display_name=display_name, title=title
            )
        )

    def _tool_started(self, event: ToolStarted) -> None:
        if event.origin:
            line = f"{event.display_name}: {event.title}\n" if event.title else f"{event.display_name}\n"
            self._transcript.append_output(event.origin, line)
            return
        self._panel(event.call_id, event.tool, event.display_name, event.title)
        self._unsettled[event.call_id] = None
        self._transcript.update_tool(
            event.call_id,
            state="running",
            display_name=event.display_name,
            title=event.title,
            tool=event.tool,
        )
        self._host.working_on(f"Running {event.display_name}")

    def _tool_output(self, event: ToolOutput) -> None:
        if not event.origin:
            self._transcript.append_output(event.call_id, event.text)

    def _tool_finished(self, event: ToolFinished) -> None:
        if event.origin:
            return
        self._panel(event.call_id, event.tool, event.display_name, event.title)
        self._unsettled.pop(event.call_id, None)
        self._transcript.update_tool(
            event.call_id,
            state=_finished_state(event),
            display_name=event.display_name,
            title=event.title,
            elapsed_s=event.elapsed_s,
            **_body(event.display),
        )
        self._host.working_on("Working")

    def _tool_denied(self, event: ToolDenied) -> None:
        if event.origin:
            name = event.display_name or event.tool
            self._transcript.append_output(event.origin, f"{name}: {event.title} ({event.effect})\n")
            return
        self._panel(event.call_id, event.tool, event.display_name, event.title)
        self._unsettled.pop(event.call_id, None)
        self._transcript.update_tool(
            event.call_id,
            state=_denied_state(event.effect),
            display_name=event.display_name or event.tool,
            title=event.title,
            text=event.reason,
        )

    # Approval

    def _approval_requested(self, event: ApprovalRequested) -> None:
        self._host.working_on("Waiting for your decision")
        self._requests.update({request.call_id: request for request in event.requests})
        for request in (*event.requests, *event.settled):
            name = request.display_name or request.tool
            self._transcript.update_tool(request.call_id, display_name=name, title=request.title)

    def _approval_decided(self, event: ApprovalDecided) -> None:
        self._host.working_on("Working")
        for verdict in event.verdicts:
            line = decision_line(self._requests.pop(verdict.call_id, None), verdict)
            if line:
                self._transcript.add(ReplayBlock(kind="decision", text=line, call_id=verdict.call_id))

    # The turn

    def _turn_started(self, event: TurnStarted) -> None:
        if event.origin:
            return
        self._forget_stream()  # a turn that a fault of ours ended told no end
        self._transcript.add(ReplayBlock(kind="user", text=event.prompt, images=event.images))

    def _turn_ended(self, event: TurnFinished | TurnFailed | TurnCancelled) -> None:
        if event.origin:
            return
        self._forget_stream()
        self._requests.clear()
        if isinstance(event, TurnFinished) and event.stop_reason == "pending_approvals":
            self._unsettled.clear()  # they wait for the person, not for this turn
        self.settle()
        match event:
            case TurnFailed():
                self._host.notice("error", event.error)
                self._give_back(event.returned)
            case TurnCancelled():
                self._host.notice("info", "Stopped.")
                self._give_back(event.returned)
            case TurnFinished():
                if (end := turn_end(event.stop_reason)) is not None:
                    self._host.notice(*end)
        self._host.refresh_status()

    def _give_back(self, typed: str) -> None:
        if typed:
            self._host.give_back(typed)


def _retrying(event: Retrying) -> str:
    return f"Retrying in {LEFT} s ({event.attempt} of {event.max_attempts}): {event.reason}"


def _finished_state(event: ToolFinished) -> ToolState:
    if event.effect == "cancelled":
        return "cancelled"
    return "error" if event.is_error else "done"


def _denied_state(effect: Effect) -> ToolState:
    if effect in ("cancelled", "not_run"):
        return "cancelled"
    return "denied" if effect in ("denied", "pending") else "error"


def _body(display: DisplayResult) -> dict[str, str | int | bool | tuple[str, ...]]:
    return {
        "text": display.content,
        "content_type": display.content_type.value,
        "language": display.language,
        "path": display.path,
        "first_line": display.first_line,
        "is_truncated": display.is_truncated,
        "full_length": display.full_length,
        "full_lines": display.full_lines,
        "summary": display.summary,
        "starts_open": display.starts_open,
        "images": display.images,
    }

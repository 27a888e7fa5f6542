"""Turns the core's events into session updates, in the order in which they happen."""

import time
from collections.abc import Awaitable, Callable, Sequence

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    Cost,
    CurrentModeUpdate,
    PlanEntry,
    PlanEntryPriority,
    PlanEntryStatus,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

from agent_tui.headless.acp import calls
from agent_tui.headless.acp.conversation import ContextUse, Conversation
from agent_tui.protocol.call_names import plain_name, plain_title
from agent_tui.protocol.events import (
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
    Usage,
)
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.context import TodoItem

Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | UsageUpdate
)
Send = Callable[[Update], Awaitable[None]]
TAIL_CHARS = 8_000
OUTPUT_EVERY_S = 0.25
_TODO_TOOLS = ("todowrite",)


class SessionUpdates:
    """An event sink for one session. Of a sub-agent only its calls are shown, not its words."""

    def __init__(self, conversation: Conversation, send: Send) -> None:
        self._conversation = conversation
        self._send = send
        self._workspace = conversation.workspace
        self._mode = conversation.mode
        self._running: dict[str, _Running] = {}

    async def __call__(self, event: Event) -> None:
        """Send what `event` means."""
        match event:
            case TextDelta(origin=""):
                await self._send(said(event.text))
            case ThinkingDelta(origin=""):
                await self._send(thought(event.text))
            case RoundStarted():
                for call in event.calls:
                    await self._send(self._announced(call))
            case ToolStarted():
                await self._started(event)
            case ToolOutput():
                await self._printed(event)
            case ToolFinished():
                await self._finished(event)
            case ToolDenied():
                await self._denied(event)
            case AssistantFinished(origin="") | Usage(origin=""):
                await self._used()
            case Notice():
                await self.mode_changed()
                await self.say(event.text)
            case Retrying():
                attempt = f"attempt {event.attempt} of {event.max_attempts} in {event.wait_s:.0f} s"
                await self._send(thought(f"\n{event.reason.rstrip('.')}; {attempt}\n"))
            case Compacted(origin=""):
                await self.say("Older messages were replaced by a summary.")
            case _:
                pass

    async def say(self, text: str) -> None:
        """Show a sentence of the program; it stands apart from what the model says."""
        await self._send(said(f"\n\n> {text.strip().replace(chr(10), chr(10) + '> ')}\n\n"))

    async def mode_changed(self) -> None:
        """Tell the mode when it is another one than was told last."""
        if self._conversation.mode != self._mode:
            self._mode = self._conversation.mode
            await self._send(
                CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self._mode)
            )

    def mode_is_known(self) -> None:
        """The editor itself has switched the mode."""
        self._mode = self._conversation.mode

    async def plan(self) -> None:
        """Tell the todo list."""
        await self._send(plan(self._conversation.todos()))

    async def _used(self) -> None:
        use = self._conversation.context_use()
        if use.size:  # the window of some models is not known
            await self._send(usage(use))

    def _announced(self, call: ToolCall) -> ToolCallStart:
        arguments = calls.raw_input(call.arguments_json)
        return ToolCallStart(
            session_update="tool_call",
            tool_call_id=call.call_id,
            title=calls.title_of(plain_name(call.name), plain_title(call.arguments_json)),
            kind=calls.kind_of(call.name),
            status="pending",
            locations=calls.places_of(arguments, self._workspace) or None,
            raw_input=arguments,
        )

    async def _started(self, event: ToolStarted) -> None:
        arguments = calls.raw_input(event.arguments_json)
        self._running[event.call_id] = _Running(arguments)
        await self._send(
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=event.call_id,
                title=calls.title_of(event.display_name, event.title),
                kind=calls.kind_of(event.tool),
                status="in_progress",
                locations=calls.places_of(arguments, self._workspace) or None,
                raw_input=arguments,
            )
        )

    async def _printed(self, event: ToolOutput) -> None:
        running = self._running.get(event.call_id)
        text = running.add(event.text) if running is not None else ""
        if text:
            await self._send(
                ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=event.call_id,
                    content=list(calls.text_contents(text)) or None,
                )
            )

    async def _finished(self, event: ToolFinished) -> None:
        running = self._running.pop(event.call_id, None)
        contents, places = calls.contents_of(event.display, self._workspace)
        if running is not None and not event.is_error:
            contents = (
                calls.new_file(event.tool, running.arguments, event.display, self._workspace) or contents
            )
        await self._send(
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=event.call_id,
                title=calls.title_of(event.display_name, event.title),
                status="failed" if event.is_error else "completed",
                content=list(contents) or None,
                locations=places or None,
                raw_output={"output": event.output, "is_error": event.is_error},
            )
        )
        if event.tool in _TODO_TOOLS and not event.origin:
            await self.plan()
        await self.mode_changed()

    async def _denied(self, event: ToolDenied) -> None:
        self._running.pop(event.call_id, None)
        await self._send(
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=event.call_id,
                title=calls.title_of(event.display_name or plain_name(event.tool), event.title),
                status="failed",
                content=list(calls.text_contents(event.reason)) or None,
                raw_output={"output": event.reason, "is_error": True},
            )
        )


class _Running:
    """A call with its live output; an update replaces the one before, so the tail is sent, not too often."""

    def __init__(self, arguments: object) -> None:
        self.arguments = arguments
        self._tail = ""
        self._sent_at = float("-inf")

    def add(self, text: str) -> str:
        """Take more; give what is to be sent now, "" for nothing."""
        self._tail = (self._tail + text)[-TAIL_CHARS:]
        now = time.monotonic()
        if now - self._sent_at < OUTPUT_EVERY_S:
            return ""
        self._sent_at = now
        return self._tail


def said(text: str) -> AgentMessageChunk:
    """A piece of the reply."""
    return AgentMessageChunk(session_update="agent_message_chunk", content=_text(text))


def thought(text: str) -> AgentThoughtChunk:
    """A piece of the reasoning."""
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=_text(text))


def asked(text: str) -> UserMessageChunk:
    """A prompt of an earlier turn."""
    return UserMessageChunk(session_update="user_message_chunk", content=_text(text))


def usage(use: ContextUse) -> UsageUpdate:
    """How full the context is."""
    cost = None if use.cost_usd is None else Cost(amount=use.cost_usd, currency="USD")
    return UsageUpdate(session_update="usage_update", used=use.used, size=use.size, cost=cost)


def plan(items: Sequence[TodoItem]) -> AgentPlanUpdate:
    """The todo list; what ended otherwise than done is done with, and says how."""
    return AgentPlanUpdate(session_update="plan", entries=[_entry(item) for item in items])


def _entry(item: TodoItem) -> PlanEntry:
    statuses: dict[str, PlanEntryStatus] = {
        "pending": "pending",
        "blocked": "pending",
        "in_progress": "in_progress",
    }
    priorities: dict[str, PlanEntryPriority] = {"critical": "high", "high": "high", "low": "low"}
    odd = item.status in ("cancelled", "failed", "blocked")
    return PlanEntry(
        content=f"{item.content} ({item.status})" if odd else item.content,
        priority=priorities.get(item.priority, "medium"),
        status=statuses.get(item.status, "completed"),
    )


def _text(text: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=text)

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_tui.agent.loop import Agent
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.journal import NullJournal
from agent_tui.protocol.messages import (
    AssistantMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.permissions import Permission, PermissionRequest
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome, ToolResult, ToolSpec
from agent_tui.providers.scripted import ScriptedProvider
from agent_tui.toolkit.testing import RecordingSink


class FakeTools:
    def __init__(self, names: Sequence[str] = ("read", "write", "bash")) -> None:
        self.names = tuple(names)

    def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec(name=name, description=name, input_schema={"type": "object"}) for name in self.names]

    def owns(self, name: str) -> bool:
        return name in self.names

    def validate(self, name: str, args_json: str) -> str | None:
        try:
            return None if isinstance(json.loads(args_json), dict) else "not an object"
        except ValueError as error:
            return str(error)

    def needs_approval(self, name: str) -> bool:
        return False

    def readable(self, name: str) -> bool:
        return True

    def interruptible(self, name: str) -> bool:
        return True

    def timeout_s(self, name: str) -> int:
        return 30

    def display_name(self, name: str) -> str:
        return name.title()

    async def foresee(self, name: str, args_json: str) -> None:
        return None

    def title(self, name: str, args_json: str) -> str:
        return ""

    def permissions(self, name: str, args_json: str, ctx: Any) -> Sequence[Permission]:
        return ()

    async def preview(self, name: str, args_json: str, ctx: Any) -> DisplayResult | None:
        return None

    async def execute(self, name: str, args_json: str, ctx: Any) -> ToolResult:
        return ToolResult.success("")

    async def execute_json(self, name: str, args_json: str, ctx: Any) -> str:
        return "{}"

    def show(self, name: str, args_json: str, result: ToolResult) -> DisplayResult:
        return DisplayResult(content=result.output)

    def summarize(self, name: str, args_json: str, result: ToolResult) -> str:
        return f"[{name}: completed]"

    def forget(self, session_id: str) -> None:
        return None


class FakeRounds:
    def __init__(self, answer: Callable[[ToolCall], str] = lambda call: f"{call.name} did it") -> None:
        self.answer = answer
        self.ran: list[list[ToolCall]] = []
        self.pending: tuple[PermissionRequest, ...] = ()
        self.hold: asyncio.Event | None = None
        self.started = asyncio.Event()
        self.cancels = 0
        self.summary = ""
        self.journal: Any = NullJournal()

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        turn_id: str,
        round_index: int,
        resumed: Any = None,
        stopped: bool = False,
    ) -> BatchResult:
        self.resumed = resumed
        self.ran.append(list(calls))
        self.started.set()
        await self.journal.round_started(calls, turn_id=turn_id)
        if self.pending:
            return BatchResult(outcomes=(), pending=self.pending)
        if self.hold is not None:
            await self.hold.wait()
        outcomes = tuple(self._outcome(call) for call in calls)
        for outcome in outcomes:
            await self.journal.outcome(outcome, turn_id=turn_id)
        return BatchResult(outcomes=outcomes, cancelled=self.cancels > 0)

    def cancel(self) -> None:
        self.cancels += 1
        if self.hold is not None:
            self.hold.set()

    def _outcome(self, call: ToolCall) -> ToolCallOutcome:
        text = self.answer(call)
        return ToolCallOutcome(
            tool_use_id=call.call_id,
            tool_name=call.name,
            call=call,
            result=ToolResult(output=text, is_error=text.startswith("ERROR")),
            display=DisplayResult(content=text, full_length=len(text)),
            display_name=call.name.title(),
            title=call.arguments_json,
            summary=self.summary,
        )


@dataclass
class World:
    provider: ScriptedProvider
    rounds: FakeRounds = field(default_factory=FakeRounds)
    sink: RecordingSink = field(default_factory=RecordingSink)
    tools: FakeTools = field(default_factory=FakeTools)

    def agent(self, *, environment: str = "", **options: Any) -> Agent:
        async def surroundings() -> str:
            return environment

        given: dict[str, Any] = {
            "provider": self.provider,
            "rounds": self.rounds,
            "tools": self.tools,
            "sink": self.sink,
            "journal": NullJournal(),
            "system": "be good",
            "environment": surroundings,
            "cut_wait_s": 0.0,
        }
        return Agent(**{**given, **options})


def world(*replies: Any, **options: Any) -> World:
    return World(ScriptedProvider(replies, **options))


def shown_text(sink: RecordingSink) -> str:
    return "".join(event.text for event in sink.events if event.type == "text_delta")


def result_texts(message: UserMessage) -> list[str]:
    return [block.content for block in message.content if isinstance(block, ToolResultBlock)]


def problems_of(
    messages: Sequence[UserMessage | AssistantMessage], *, provider: str = "", model: str = ""
) -> list[str]:
    """What a strict server would refuse about a conversation."""
    found: list[str] = []
    if messages and messages[0].role != "user":
        found.append("the first message is not the user's")
    seen: set[str] = set()
    for index, message in enumerate(messages):
        where = f"message {index}"
        if index and messages[index - 1].role == message.role:
            found.append(f"{where}: two {message.role} messages in a row")
        if not message.content:
            found.append(f"{where}: empty")
        found += _block_problems(message, where, provider, model, seen)
        before = messages[index - 1] if index else None
        wanted = (
            [b.id for b in before.content if isinstance(b, ToolUseBlock)]
            if isinstance(before, AssistantMessage)
            else []
        )
        if isinstance(message, UserMessage):
            given = [b.tool_use_id for b in message.content if isinstance(b, ToolResultBlock)]
            if given != wanted:
                found.append(f"{where}: results {given} for calls {wanted}")
            kinds = [isinstance(b, ToolResultBlock) for b in message.content]
            if kinds != sorted(kinds, reverse=True):
                found.append(f"{where}: results must come first")
        elif wanted:
            found.append(f"{where}: calls {wanted} have no results")
    last = messages[-1] if messages else None
    if isinstance(last, AssistantMessage) and any(isinstance(b, ToolUseBlock) for b in last.content):
        found.append("the last message has calls without results")
    return found


def _block_problems(
    message: UserMessage | AssistantMessage, where: str, provider: str, model: str, seen: set[str]
) -> list[str]:
    found: list[str] = []
    for block in message.content:
        if isinstance(block, TextBlock) and not block.text.strip():
            found.append(f"{where}: empty text")
        if isinstance(block, ToolUseBlock):
            if block.id in seen:
                found.append(f"{where}: id {block.id!r} twice")
            seen.add(block.id)
            if not block.id or not all(c.isascii() and (c.isalnum() or c in "_-") for c in block.id):
                found.append(f"{where}: bad id {block.id!r}")
            if not isinstance(json.loads(block.arguments_json), dict):
                found.append(f"{where}: arguments are no object")
        if (
            isinstance(block, ThinkingBlock)
            and isinstance(message, AssistantMessage)
            and (message.provider, message.model) != (provider, model)
        ):
            found.append(f"{where}: thinking of another model")
        images = block.images if isinstance(block, ToolResultBlock) else ()
        if isinstance(block, ImageBlock):
            images = (block,)
        for image in images:
            if image.media_type not in {"image/png", "image/jpeg", "image/gif", "image/webp"}:
                found.append(f"{where}: bad image")
    if isinstance(message, AssistantMessage) and message.content and message.content[-1].type == "thinking":
        found.append(f"{where}: ends in thinking")
    return found


Coroutine = Awaitable[Any]

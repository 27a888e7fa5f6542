"""A model that says what a script tells it: for tests, demos and authors of extensions."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import BadResponse, ProviderError
from agent_tui.protocol.messages import (
    AssistantBlock,
    AssistantMessage,
    RedactedThinkingBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolUseBlock,
)
from agent_tui.providers.base import (
    Completed,
    Counted,
    Delta,
    ModelInfo,
    ProviderRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
)

ToolUse = ToolUseBlock
"""One call of a scripted reply; `use` makes it from a dict."""


@dataclass(frozen=True)
class Reply:
    """One scripted reply. Join replies with `+`: `thinking("hm") + text("I look.") + calls(use("read", ...))`.

    `stop_reason` None means tool_use when there are calls, else end_turn. `gate` holds the stream after
    `gate_after` deltas until it is set. `error` is raised after `error_after` deltas, as a cut stream would.
    `counted` is what the server tells of the tokens before anything else; it counts as no delta.
    """

    blocks: tuple[AssistantBlock, ...] = ()
    stop_reason: StopReason | None = None
    usage: TokenUsage = TokenUsage(input_tokens=10, output_tokens=5)
    gate: asyncio.Event | None = None
    gate_after: int = 0
    error: ProviderError | None = None
    error_after: int = 0
    counted: TokenUsage | None = None

    def __add__(self, other: "Reply") -> "Reply":
        return replace(
            self,
            blocks=self.blocks + other.blocks,
            stop_reason=self.stop_reason or other.stop_reason,
            gate=self.gate or other.gate,
            gate_after=self.gate_after or other.gate_after,
            error=self.error or other.error,
            error_after=self.error_after or other.error_after,
            counted=self.counted or other.counted,
        )

    def held(self, gate: asyncio.Event, *, after: int = 0) -> "Reply":
        """Give the same reply, held after `after` deltas until `gate` is set."""
        return replace(self, gate=gate, gate_after=after)

    def cut(self, error: ProviderError, *, after: int) -> "Reply":
        """Give the same reply, broken by `error` after `after` deltas."""
        return replace(self, error=error, error_after=after)

    def ending(self, stop_reason: StopReason) -> "Reply":
        """Give the same reply with another stop reason."""
        return replace(self, stop_reason=stop_reason)

    def costing(self, usage: TokenUsage) -> "Reply":
        """Give the same reply with other token counts."""
        return replace(self, usage=usage)

    def counting(self, usage: TokenUsage) -> "Reply":
        """Give the same reply with token counts that come first, as some servers send them."""
        return replace(self, counted=usage)

    def message(self, *, provider: str, model: str) -> AssistantMessage:
        """Give the whole message of this reply."""
        calls_tools = any(isinstance(block, ToolUseBlock) for block in self.blocks)
        return AssistantMessage(
            content=self.blocks,
            provider=provider,
            model=model,
            stop_reason=self.stop_reason or ("tool_use" if calls_tools else "end_turn"),
            usage=self.usage,
        )


def text(words: str) -> Reply:
    """Reply with text."""
    return Reply((TextBlock(text=words),))


def thinking(words: str, *, signature: str = "") -> Reply:
    """Think aloud."""
    return Reply((ThinkingBlock(text=words, signature=signature),))


def redacted(data: str) -> Reply:
    """Think in secret."""
    return Reply((RedactedThinkingBlock(data=data),))


def calls(*uses: ToolUseBlock) -> Reply:
    """Ask for tools."""
    return Reply(uses)


def use(name: str, arguments: JsonObject | str | None = None, *, call_id: str = "") -> ToolUseBlock:
    """Make one call; `arguments` as a dict or as raw text, which need not be JSON.

    Without `call_id` the provider gives an id that is unique within it.
    """
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolUseBlock(id=call_id, name=name, arguments_json=raw)


class ScriptedProvider:
    """Answers each request with the next reply of the script and keeps the requests.

    A ProviderError in the script is raised instead of an answer. A request beyond the script's end raises
    BadResponse, so a test that asks once too often fails with a clear sentence. `keep_requests` limits `requests` to
    the newest so many, for long runs; None keeps all.
    """

    def __init__(
        self,
        replies: Iterable[Reply | ProviderError] = (),
        *,
        name: str = "scripted",
        model: str = "script",
        context_tokens: int = 200_000,
        info: ModelInfo | None = None,
        piece_chars: int = 24,
        keep_requests: int | None = None,
    ) -> None:
        self.requests: list[ProviderRequest] = []
        self.closed = False
        self.name = name
        self.model = model
        self.context_tokens = context_tokens
        self.info = info or ModelInfo(name=model, context_tokens=context_tokens)
        self._replies = iter(replies)
        self._piece_chars = piece_chars
        self._keep_requests = keep_requests
        self._asked = 0
        self._ids = 0

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        """Play the next reply of the script. Raises BadResponse behind its end, and what the script says."""
        self._asked += 1
        self.requests.append(request)
        if self._keep_requests is not None:
            del self.requests[: -self._keep_requests or None]
        reply = next(self._replies, None)
        if reply is None:
            raise BadResponse(f"the script has no reply for request {self._asked}")
        if isinstance(reply, ProviderError):
            raise reply
        async with aclosing(self._play(self._with_ids(reply))) as deltas:
            yield deltas

    async def models(self) -> Sequence[str]:
        """List the one model there is."""
        return [self.model]

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def _with_ids(self, reply: Reply) -> Reply:
        blocks: list[AssistantBlock] = []
        for block in reply.blocks:
            if isinstance(block, ToolUseBlock) and not block.id:
                self._ids += 1
                block = block.model_copy(update={"id": f"call_{self._ids}"})
            blocks.append(block)
        return replace(reply, blocks=tuple(blocks))

    async def _play(self, reply: Reply) -> AsyncGenerator[Delta]:
        message = reply.message(provider=self.name, model=self.model)
        deltas = [*pieces(message, piece_chars=self._piece_chars), Completed(message)]
        if reply.counted is not None:
            yield Counted(reply.counted)
        for index, delta in enumerate(deltas):
            if reply.error is not None and index >= min(reply.error_after, len(deltas) - 1):
                raise reply.error
            if reply.gate is not None and index == min(reply.gate_after, len(deltas) - 1):
                await reply.gate.wait()
            await asyncio.sleep(0)
            yield delta


def pieces(message: AssistantMessage, *, piece_chars: int) -> list[Delta]:
    """Cut a message into the deltas that a server would stream, without the final Completed."""
    deltas: list[Delta] = []
    for block in message.content:
        match block:
            case TextBlock():
                deltas.extend(TextPiece(part) for part in _chunks(block.text, piece_chars))
            case ThinkingBlock():
                deltas.extend(ThinkingPiece(part) for part in _chunks(block.text, piece_chars))
            case ToolUseBlock():
                deltas.append(ToolCallPiece(block.id, block.name, block.arguments_json))
            case RedactedThinkingBlock():
                pass
    return deltas


def _chunks(words: str, size: int) -> list[str]:
    return [words[start : start + size] for start in range(0, len(words), size)]

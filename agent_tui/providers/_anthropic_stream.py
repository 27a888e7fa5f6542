"""Folds the events of a Messages stream into deltas and one whole message."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import BadResponse, StreamCut
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
from agent_tui.providers._fields import integer, obj, string
from agent_tui.providers.base import Counted, Delta, TextPiece, ThinkingPiece, ToolCallPiece

_Kind = Literal["text", "thinking", "redacted_thinking", "tool_use", "other"]
_STOPS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_overflow",
}


@dataclass
class _Open:
    """A block as far as it came. `parts` are text, reasoning or the arguments' JSON."""

    kind: _Kind
    id: str = ""
    name: str = ""
    data: str = ""
    signature: str = ""
    given: JsonObject | None = None
    parts: list[str] = field(default_factory=list[str])
    is_closed: bool = False

    def arguments(self) -> str:
        text = "".join(self.parts)
        if text.strip():
            return text
        return json.dumps(self.given, ensure_ascii=False) if self.given else "{}"

    def whole(self) -> AssistantBlock | None:
        match self.kind:
            case "text":
                text = "".join(self.parts)
                return TextBlock(text=text) if text else None
            case "thinking":
                text = "".join(self.parts)
                return ThinkingBlock(text=text, signature=self.signature) if text or self.signature else None
            case "redacted_thinking":
                return RedactedThinkingBlock(data=self.data)
            case "tool_use":
                return ToolUseBlock(id=self.id, name=self.name, arguments_json=self.arguments())
            case "other":
                return None


class MessageFold:
    """Takes the events of one reply in order; unknown events, blocks and fields are skipped."""

    def __init__(self, *, provider: str, model: str) -> None:
        self._provider, self._model = provider, model
        self._blocks: list[_Open] = []
        self._by_index: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._stopped = False

    @property
    def is_whole(self) -> bool:
        """Whether the reply is complete: it was ended, or it has a stop reason and no open block."""
        return self._stopped or (bool(self._stop) and all(block.is_closed for block in self._blocks))

    def feed(self, event: JsonObject) -> Sequence[Delta]:
        """Take one event; give what it adds for the person. Raises BadResponse for an event that makes no sense."""
        match event.get("type"):
            case "content_block_delta":
                return self._delta(event)
            case "content_block_start":
                return self._start(event)
            case "content_block_stop":
                block = self._by_index.get(integer(event, "index"))
                if block is not None:
                    block.is_closed = True
            case "message_start":
                self._count(obj(obj(event, "message"), "usage"))
                return (Counted(self.usage()),) if self._usage else ()
            case "message_delta":
                self._stop = string(obj(event, "delta"), "stop_reason") or self._stop
                self._count(obj(event, "usage"))
                return (Counted(self.usage()),) if self._usage else ()
            case "message_stop":
                self._stopped = True
            case _:
                pass
        return ()

    def done(self) -> None:
        """Do nothing: a reply of this API says itself when it ends."""

    def finish(self) -> Sequence[Delta]:
        """Give nothing: no event is held back."""
        return ()

    def feed_whole(self, body: JsonObject) -> list[Delta]:
        """Take a message that came as one JSON body; give its deltas. Raises BadResponse when it is none."""
        content = body.get("content")
        if body.get("type") != "message" or not isinstance(content, list):
            raise BadResponse("the body is no message")
        deltas: list[Delta] = []
        for index, block in enumerate(content):
            deltas.extend(self._start({"index": index, "content_block": block}))
            self._blocks[-1].is_closed = True
        self._count(obj(body, "usage"))
        self._stop = string(body, "stop_reason")
        self._stopped = True
        return deltas

    def message(self) -> AssistantMessage:
        """Give the whole reply. Raises StreamCut when it is not whole."""
        if not self.is_whole:
            raise StreamCut(f"the stream ended in the middle of the reply, {self.describe()}")
        content = tuple(block for open_ in self._blocks if (block := open_.whole()) is not None)
        return AssistantMessage(
            content=content,
            provider=self._provider,
            model=self._model,
            stop_reason=self._stop_reason(content),
            usage=self.usage(),
        )

    def describe(self) -> str:
        """Say how far the reply came."""
        if not self._blocks:
            return "before it said anything"
        last = self._blocks[-1]
        words = {"tool_use": f"in a call of {last.name!r}", "text": "in its text"}.get(
            last.kind, "in its reasoning"
        )
        return f"after {words[3:]}" if last.is_closed else words

    def usage(self) -> TokenUsage:
        """Give the tokens counted so far."""
        return TokenUsage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
            reasoning_tokens=self._usage.get("thinking_tokens", 0),
        )

    def _stop_reason(self, content: tuple[AssistantBlock, ...]) -> StopReason:
        if self._stop in _STOPS:
            return _STOPS[self._stop]
        if self._stop:
            return "other"
        return "tool_use" if any(isinstance(block, ToolUseBlock) for block in content) else "end_turn"

    def _start(self, event: JsonObject) -> Sequence[Delta]:
        index, given = integer(event, "index"), obj(event, "content_block")
        kind = given.get("type")
        block = _Open(
            kind=kind if kind in {"text", "thinking", "redacted_thinking", "tool_use"} else "other",  # type: ignore[arg-type]  # one of the words of _Open.kind
            id=string(given, "id"),
            name=string(given, "name"),
            data=string(given, "data"),
            signature=string(given, "signature"),
            given=obj(given, "input") or None,
        )
        self._blocks.append(block)
        self._by_index[index] = block
        text = string(given, "text") or string(given, "thinking")
        if block.kind == "tool_use":
            return (ToolCallPiece(block.id, block.name),)
        return self._add(block, text)

    def _delta(self, event: JsonObject) -> Sequence[Delta]:
        delta = obj(event, "delta")
        match delta.get("type"):
            case "text_delta":
                return self._add(self._target(event, "text"), string(delta, "text"))
            case "thinking_delta":
                return self._add(self._target(event, "thinking"), string(delta, "thinking"))
            case "signature_delta":
                self._target(event, "thinking").signature += string(delta, "signature")
                return ()
            case "input_json_delta":
                return self._add(self._target(event, "tool_use"), string(delta, "partial_json"))
            case _:
                return ()

    def _target(self, event: JsonObject, kind: _Kind) -> _Open:
        """Find the block a delta belongs to; text and reasoning may come without their start."""
        block = self._by_index.get(integer(event, "index"))
        if block is not None:
            if block.kind not in {kind, "other"}:
                raise BadResponse(f"the stream sent {kind} for a block of {block.kind}")
            return block
        if kind == "tool_use":
            raise BadResponse("the stream sent arguments of a call that never began")
        block = _Open(kind=kind)
        self._blocks.append(block)
        self._by_index[integer(event, "index")] = block
        return block

    def _add(self, block: _Open, text: str) -> Sequence[Delta]:
        if not text:
            return ()
        block.parts.append(text)
        match block.kind:
            case "text":
                return (TextPiece(text),)
            case "thinking":
                return (ThinkingPiece(text),)
            case "tool_use":
                return (ToolCallPiece(block.id, block.name, text),)
            case _:
                return ()

    def _count(self, usage: JsonObject) -> None:
        """Take counts over; later ones are totals, not additions."""
        details = obj(usage, "output_tokens_details")
        for name, value in (*usage.items(), *details.items()):
            if isinstance(value, int) and not isinstance(value, bool):
                self._usage[name] = value

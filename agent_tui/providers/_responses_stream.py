"""Folds the events of the responses API into deltas and one whole message."""

import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import BadResponse, StreamCut
from agent_tui.protocol.messages import (
    AssistantBlock,
    AssistantMessage,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolUseBlock,
)
from agent_tui.providers._fields import integer, obj, objects, string
from agent_tui.providers.base import Delta, TextPiece, ThinkingPiece, ToolCallPiece


@dataclass
class _Item:
    """One item of the output as far as it came."""

    kind: str
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list[str])
    signature: str = ""
    is_done: bool = False

    def text(self) -> str:
        return "".join(self.parts)


class ResponseFold:
    """Takes the events of one response. `used_ids` are ids of earlier calls."""

    def __init__(self, *, provider: str, model: str, used_ids: Collection[str]) -> None:
        self._provider, self._model = provider, model
        self._taken = set(used_ids)
        self._items: dict[int, _Item] = {}
        self._ended = ""
        self._why = ""
        self._refused = False
        self._usage = TokenUsage()

    @property
    def is_whole(self) -> bool:
        """Whether the server said how the response ended."""
        return bool(self._ended)

    def done(self) -> None:
        """Do nothing: a response says itself how it ended."""

    def feed(self, event: JsonObject) -> Sequence[Delta]:
        """Take one event; unknown ones are skipped."""
        match event.get("type"):
            case "response.output_text.delta":
                return self._add(event, "message", string(event, "delta"))
            case "response.refusal.delta":
                self._refused = True
                return self._add(event, "message", string(event, "delta"))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._add(event, "reasoning", string(event, "delta"))
            case "response.reasoning_summary_part.added":
                item = self._item(event, "reasoning")
                return self._add(event, "reasoning", "\n\n") if item.parts else ()
            case "response.function_call_arguments.delta":
                return self._add(event, "function_call", string(event, "delta"))
            case "response.output_item.added":
                return self._opened(event)
            case "response.output_item.done":
                return self._closed(integer(event, "output_index"), obj(event, "item"))
            case "response.completed" | "response.incomplete":
                return self._end(obj(event, "response"))
            case _:
                return ()

    def feed_whole(self, body: JsonObject) -> Sequence[Delta]:
        """Take a response that came as one body. Raises BadResponse when it is none."""
        if body.get("object") != "response":
            raise BadResponse("The server's answer is no response object.")
        return self._end(body)

    def finish(self) -> Sequence[Delta]:
        """Give nothing: no event is held back."""
        return ()

    def message(self) -> AssistantMessage:
        """Give the whole reply. Raises StreamCut when it is not whole."""
        if not self.is_whole:
            raise StreamCut(f"The stream ended in the middle of the reply, {self.describe()}.")
        blocks = [
            block for _, item in sorted(self._items.items()) if (block := self._block(item)) is not None
        ]
        return AssistantMessage(
            content=tuple(blocks),
            provider=self._provider,
            model=self._model,
            stop_reason=self._stop_reason(blocks),
            usage=self._usage,
        )

    def describe(self) -> str:
        """Say how far the reply came."""
        if not self._items:
            return "before it said anything"
        item = self._items[max(self._items)]
        return {"function_call": f"in a call of {item.name!r}", "message": "in its text"}.get(
            item.kind, "in its reasoning"
        )

    def _block(self, item: _Item) -> AssistantBlock | None:
        match item.kind:
            case "message":
                return TextBlock(text=item.text()) if item.parts else None
            case "reasoning":
                text = item.text()
                return ThinkingBlock(text=text, signature=item.signature) if text or item.signature else None
            case "function_call":
                return ToolUseBlock(id=item.id, name=item.name, arguments_json=item.text().strip() or "{}")
            case _:
                return None

    def _stop_reason(self, blocks: Sequence[AssistantBlock]) -> StopReason:
        if self._ended == "incomplete":
            return {"max_output_tokens": "max_tokens", "content_filter": "refusal"}.get(self._why, "other")  # type: ignore[return-value]  # words of StopReason
        if any(isinstance(block, ToolUseBlock) for block in blocks):
            return "tool_use"
        return "refusal" if self._refused else "end_turn"

    def _item(self, event: JsonObject, kind: str) -> _Item:
        return self._items.setdefault(integer(event, "output_index"), _Item(kind))

    def _add(self, event: JsonObject, kind: str, text: str) -> Sequence[Delta]:
        item = self._item(event, kind)
        if item.kind != kind:
            raise BadResponse(f"the stream sent {kind} for an item of {item.kind}")
        if kind == "function_call" and not item.name:
            raise BadResponse("the stream sent arguments of a call that never began")
        if not text:
            return ()
        item.parts.append(text)
        return (_delta(item, text),)

    def _opened(self, event: JsonObject) -> Sequence[Delta]:
        given = obj(event, "item")
        item = _Item(string(given, "type"))
        self._items[integer(event, "output_index")] = item
        if item.kind != "function_call":
            return ()
        item.name = string(given, "name")
        item.id = self._unique(string(given, "call_id"))
        return (ToolCallPiece(item.id, item.name),)

    def _closed(self, index: int, given: JsonObject) -> Sequence[Delta]:
        """Take the finished item; what no delta told yet is told now."""
        item = self._items.setdefault(index, _Item(string(given, "type")))
        if item.is_done:
            return ()
        item.is_done = True
        if item.kind == "reasoning":
            kept = {key: given[key] for key in ("id", "encrypted_content") if given.get(key)}
            item.signature = json.dumps(kept) if "encrypted_content" in kept else ""
        if item.kind == "function_call" and not item.name:
            item.name, item.id = string(given, "name"), self._unique(string(given, "call_id"))
        whole = _whole_text(item.kind, given)
        if item.parts or not whole:
            return ()
        item.parts.append(whole)
        return (_delta(item, whole),)

    def _end(self, response: JsonObject) -> Sequence[Delta]:
        deltas = [d for i, item in enumerate(objects(response, "output")) for d in self._closed(i, item)]
        self._ended = string(response, "status") or "completed"
        self._why = string(obj(response, "incomplete_details"), "reason")
        usage = obj(response, "usage")
        cached = integer(obj(usage, "input_tokens_details"), "cached_tokens")
        written = integer(obj(usage, "input_tokens_details"), "cache_write_tokens")
        self._usage = TokenUsage(
            input_tokens=max(0, integer(usage, "input_tokens") - cached - written),
            output_tokens=integer(usage, "output_tokens"),
            cache_read_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=integer(obj(usage, "output_tokens_details"), "reasoning_tokens"),
        )
        return deltas

    def _unique(self, given: str) -> str:
        unique = given if given and given not in self._taken else f"call_{secrets.token_hex(8)}"
        self._taken.add(unique)
        return unique


def _delta(item: _Item, text: str) -> Delta:
    match item.kind:
        case "message":
            return TextPiece(text)
        case "function_call":
            return ToolCallPiece(item.id, item.name, text)
        case _:
            return ThinkingPiece(text)


def _whole_text(kind: str, given: JsonObject) -> str:
    match kind:
        case "message":
            return "".join(string(p, "text") or string(p, "refusal") for p in objects(given, "content"))
        case "reasoning":
            return "\n\n".join(string(part, "text") for part in objects(given, "summary"))
        case "function_call":
            return string(given, "arguments")
        case _:
            return ""

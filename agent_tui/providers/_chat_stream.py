"""Folds chat-completion chunks, in all the forms servers send them, into deltas and one whole message."""

import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

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
from agent_tui.providers._chat_request import SIGNATURES
from agent_tui.providers._chat_text import TextScanner, Written
from agent_tui.providers._fields import integer, obj, objects, string
from agent_tui.providers.base import Counted, Delta, TextPiece, ThinkingPiece, ToolCallPiece

_STOPS: dict[str, StopReason] = {
    "stop": "end_turn",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "tool_calls": "end_turn",  # tool_use when calls really came
    "function_call": "end_turn",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
}


@dataclass
class _Call:
    """A call as far as it came. `given_id` is what the server called it, `id` what we do."""

    id: str
    given_id: str
    name: str = ""
    parts: list[str] = field(default_factory=list[str])
    signature: str = ""

    def arguments(self) -> str:
        text = "".join(self.parts)
        return text if text.strip() else "{}"


class ChatFold:
    """Takes the chunks of one completion. `used_ids` are ids of earlier calls, `tools` the names that were offered."""

    def __init__(
        self, *, provider: str, model: str, used_ids: Collection[str], tools: Collection[str]
    ) -> None:
        self._provider, self._model = provider, model
        self._taken = set(used_ids)
        self._scanner = TextScanner(tools)
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._details: list[JsonObject] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._finish = ""
        self._is_done = False
        self._refused = False
        self._usage = TokenUsage()

    @property
    def is_whole(self) -> bool:
        """Whether a finish reason or the end mark came."""
        return bool(self._finish) or self._is_done

    def done(self) -> None:
        """Take `[DONE]`."""
        self._is_done = True

    def feed(self, event: JsonObject) -> Sequence[Delta]:
        """Take one chunk; unknown fields are skipped."""
        usage = obj(event, "usage") or obj(obj(event, "x_groq"), "usage")
        deltas: list[Delta] = []
        if usage:
            self._usage = read_usage(usage)
            deltas.append(Counted(self._usage))
        for choice in objects(event, "choices")[:1]:
            deltas.extend(self._delta(obj(choice, "delta") or obj(choice, "message")))
            self._finish = string(choice, "finish_reason") or self._finish
        return deltas

    def feed_whole(self, body: JsonObject) -> Sequence[Delta]:
        """Take a completion that came as one body. Raises BadResponse when it is none."""
        if not objects(body, "choices"):
            raise BadResponse("The server's answer holds no choices; it is no chat completion.")
        deltas = self.feed(body)
        self._is_done = True
        return deltas

    def finish(self) -> Sequence[Delta]:
        """Give the text that was held back."""
        return self._written(self._scanner.finish())

    def message(self) -> AssistantMessage:
        """Give the whole reply. Raises StreamCut when it is not whole."""
        if not self.is_whole:
            raise StreamCut(f"The stream ended in the middle of the reply, {self.describe()}.")
        blocks: list[AssistantBlock] = []
        if self._thinking or self._details:
            signature = json.dumps(self._details, ensure_ascii=False) if self._details else ""
            blocks.append(ThinkingBlock(text="".join(self._thinking), signature=signature))
        signed = {call.id: call.signature for call in self._calls if call.signature}
        if signed:
            blocks.append(RedactedThinkingBlock(data=json.dumps({SIGNATURES: signed})))
        text = "".join(self._text)
        if text:
            blocks.append(TextBlock(text=text))
        blocks.extend(
            ToolUseBlock(id=call.id, name=call.name, arguments_json=call.arguments()) for call in self._calls
        )
        return AssistantMessage(
            content=tuple(blocks),
            provider=self._provider,
            model=self._model,
            stop_reason=self._stop_reason(),
            usage=self._usage,
        )

    def describe(self) -> str:
        """Say how far the reply came."""
        if self._calls:
            return f"in a call of {self._calls[-1].name!r}"
        if self._text:
            return "in its text"
        return "in its reasoning" if self._thinking else "before it said anything"

    def _stop_reason(self) -> StopReason:
        reason = _STOPS.get(self._finish, "other" if self._finish else "end_turn")
        if self._refused and reason == "end_turn":
            return "refusal"
        if self._calls and reason in {"end_turn", "other"}:
            return "tool_use"  # some servers say stop although they call
        return reason

    def _delta(self, delta: JsonObject) -> list[Delta]:
        deltas = self._reason(delta)
        content = delta.get("content")
        if isinstance(content, str) and content:
            deltas.extend(self._written(self._scanner.feed(content)))
        for part in objects(delta, "content"):
            deltas.extend(self._part(part))
        refusal = string(delta, "refusal")
        if refusal:
            self._refused = True
            deltas.extend(self._written([Written("text", refusal)]))
        for call in objects(delta, "tool_calls"):
            deltas.extend(self._call(call))
        legacy = obj(delta, "function_call")
        if legacy:
            deltas.extend(self._call({"index": 0, "function": legacy}))
        return deltas

    def _reason(self, delta: JsonObject) -> list[Delta]:
        """Take reasoning; servers that send it twice under two names are taken at the first."""
        details = objects(delta, "reasoning_details")
        self._details.extend(details)
        text = string(delta, "reasoning_content") or string(delta, "reasoning") or string(delta, "thinking")
        if not text:
            text = "".join(string(detail, "text") or string(detail, "summary") for detail in details)
        if not text:
            return []
        self._thinking.append(text)
        return [ThinkingPiece(text)]

    def _part(self, part: JsonObject) -> list[Delta]:
        """Take one part of a content list."""
        if part.get("type") == "thinking":
            text = "".join(string(piece, "text") for piece in objects(part, "thinking"))
            if not text:
                return []
            self._thinking.append(text)
            return [ThinkingPiece(text)]
        return self._written(self._scanner.feed(string(part, "text")))

    def _written(self, parts: list[Written]) -> list[Delta]:
        deltas: list[Delta] = []
        for part in parts:
            match part.kind:
                case "text":
                    self._text.append(part.text)
                    deltas.append(TextPiece(part.text))
                case "thinking":
                    self._thinking.append(part.text)
                    deltas.append(ThinkingPiece(part.text))
                case "call":
                    call = self._open("", part.text)
                    call.parts.append(part.arguments_json)
                    deltas.append(ToolCallPiece(call.id, call.name, part.arguments_json))
        return deltas

    def _call(self, given: JsonObject) -> list[Delta]:
        function = obj(given, "function")
        call = self._find(given, string(function, "name"))
        call.name = call.name or string(function, "name")
        call.signature = (
            string(obj(obj(given, "extra_content"), "google"), "thought_signature") or call.signature
        )
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else ""
        if isinstance(arguments, dict | list):
            text = json.dumps(arguments, ensure_ascii=False)
        call.parts.append(text)
        return [ToolCallPiece(call.id, call.name, text)]

    def _find(self, given: JsonObject, name: str) -> _Call:
        """Find the call a delta belongs to, or begin one.

        Without an index a delta with a name begins a call. An index that comes again with another id and a name
        is another call: some servers number all their calls 0.
        """
        given_id = string(given, "id")
        index = integer(given, "index", -1)
        known = self._by_index.get(index) if index >= 0 else (self._calls[-1] if self._calls else None)
        if known is not None:
            is_other_id = bool(given_id and known.given_id and given_id != known.given_id)
            is_unnumbered = index < 0 and bool(name) and (given_id != known.given_id or not given_id)
            if not (name and is_other_id) and not is_unnumbered:
                known.given_id = known.given_id or given_id
                return known
        call = self._open(given_id, name)
        if index >= 0:
            self._by_index[index] = call
        return call

    def _open(self, given_id: str, name: str) -> _Call:
        unique = given_id if given_id and given_id not in self._taken else f"call_{secrets.token_hex(8)}"
        self._taken.add(unique)
        call = _Call(id=unique, given_id=given_id, name=name)
        self._calls.append(call)
        return call


def read_usage(usage: JsonObject) -> TokenUsage:
    """Read token counts; what the cache gave is taken out of the prompt's."""
    details = obj(usage, "prompt_tokens_details")
    cached = integer(details, "cached_tokens") or integer(usage, "prompt_cache_hit_tokens")
    written = integer(details, "cache_write_tokens")
    return TokenUsage(
        input_tokens=max(0, integer(usage, "prompt_tokens") - cached - written),
        output_tokens=integer(usage, "completion_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=integer(obj(usage, "completion_tokens_details"), "reasoning_tokens"),
    )

"""Builds the body of a Messages request: stable prefix, cache marks, thinking, images, documents."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import cast

from agent_tui.protocol.data import JsonObject, without_half_pairs
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.messages import (
    AssistantBlock,
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    UserMessage,
)
from agent_tui.providers.base import Effort, ProviderRequest
from agent_tui.providers.models import ModelFacts, server_effort

INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
DEFAULT_OUTPUT_TOKENS = 32_000
UNKNOWN_OUTPUT_TOKENS = 8_192
MIN_THINKING_TOKENS = 1_024
_BUDGETS: dict[Effort, int] = {"": 10_000, "low": 4_000, "medium": 10_000, "high": 20_000, "max": 31_999}
_MARK: JsonObject = {"type": "ephemeral"}


def build_body(request: ProviderRequest, facts: ModelFacts, *, provider: str, model: str) -> JsonObject:
    """Give the arguments of `messages.create` without `stream`.

    Everything but the cache marks on the last two user messages is the same for the same prefix, byte for byte.
    """
    max_tokens = _max_tokens(request, facts)
    body: JsonObject = {"model": model, "max_tokens": max_tokens}
    if request.system:
        body["system"] = [{"type": "text", "text": wire_text(request.system), "cache_control": _MARK}]
    if request.tools:
        tools: list[JsonObject] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
        tools[-1] = {**tools[-1], "cache_control": _MARK}
        body["tools"] = [*tools]
    messages = build_messages(request.messages, provider=provider, model=model)
    body["messages"] = [*messages]
    if facts.thinking != "budget" or _may_think(messages):
        body.update(_thinking(request.effort, facts, max_tokens))
    return body


def _may_think(messages: Sequence[JsonObject]) -> bool:
    """Tell whether thinking with a budget may be on: within a round the reply that asks must begin with thinking.

    It does not after a switch of models in the middle of a turn, when the other model's thinking was left out.
    """
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is None:
        return True
    blocks = cast("list[JsonObject]", last["content"])
    calls = any(block["type"] == "tool_use" for block in blocks)
    return not calls or blocks[0]["type"] in {"thinking", "redacted_thinking"}


def needs_interleaved_beta(facts: ModelFacts) -> bool:
    """Whether thinking between tool calls has to be asked for by a header."""
    return facts.thinking == "budget"


def _max_tokens(request: ProviderRequest, facts: ModelFacts) -> int:
    limit = facts.info.max_output_tokens
    is_known = (
        limit is not None or facts.thinking != "none"
    )  # every Claude that thinks by either way can say as much
    wanted = request.max_output_tokens or (DEFAULT_OUTPUT_TOKENS if is_known else UNKNOWN_OUTPUT_TOKENS)
    return min(wanted, limit) if limit else wanted


def _thinking(effort: Effort, facts: ModelFacts, max_tokens: int) -> JsonObject:
    match facts.thinking:
        case "adaptive":
            # asked for in words because newer models leave the text out by default and the person reads along
            fields: JsonObject = {"thinking": {"type": "adaptive", "display": "summarized"}}
            if effort:
                fields["output_config"] = {"effort": server_effort(effort, facts)}
            return fields
        case "budget":
            budget = min(_BUDGETS[effort], max_tokens - MIN_THINKING_TOKENS)
            if budget < MIN_THINKING_TOKENS:
                return {}
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}
        case _:
            return {}


def build_messages(
    messages: Sequence[UserMessage | AssistantMessage], *, provider: str, model: str
) -> list[JsonObject]:
    """Give the messages on the wire, neighbours of one role joined, marks on the last two user messages."""
    wire: list[JsonObject] = []
    for message in messages:
        if isinstance(message, UserMessage):
            blocks = [part for block in message.content for part in _user_block(block)]
        else:
            own = (message.provider, message.model) == (provider, model)
            blocks = [part for block in message.content for part in _assistant_block(block, own=own)]
        if not blocks:
            continue
        if wire and wire[-1]["role"] == message.role:
            blocks = [*cast("list[JsonObject]", wire.pop()["content"]), *blocks]
        wire.append({"role": message.role, "content": [*blocks]})
    for index in [i for i, message in enumerate(wire) if message["role"] == "user"][-2:]:
        wire[index] = _marked(wire[index])
    return wire


def _marked(message: JsonObject) -> JsonObject:
    blocks = cast("list[JsonObject]", message["content"])
    return {**message, "content": [*blocks[:-1], {**blocks[-1], "cache_control": _MARK}]}


def _user_block(block: UserBlock) -> list[JsonObject]:
    match block:
        case TextBlock():
            return _text(block.text)
        case ImageBlock():
            return [_image(block)]
        case DocumentBlock():
            return [_document(block)]
        case ToolResultBlock():
            return [_tool_result(block)]


def _assistant_block(block: AssistantBlock, *, own: bool) -> list[JsonObject]:
    match block:
        case TextBlock():
            return _text(block.text)
        case ThinkingBlock():
            signed = own and block.signature
            return (
                [{"type": "thinking", "thinking": block.text, "signature": block.signature}] if signed else []
            )
        case RedactedThinkingBlock():
            return [{"type": "redacted_thinking", "data": block.data}] if own else []
        case ToolUseBlock():
            return [
                {
                    "type": "tool_use",
                    "id": safe_id(block.id),
                    "name": safe_id(block.name)[:128],
                    "input": arguments_object(block.arguments_json),
                }
            ]


def _text(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": wire_text(text)}] if text.strip() else []


def _image(block: ImageBlock) -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data}}


def _document(block: DocumentBlock) -> JsonObject:
    source: JsonObject = {"type": "base64", "media_type": block.media_type, "data": block.data}
    if block.media_type.startswith("text/"):
        source = {"type": "text", "media_type": "text/plain", "data": _decoded(block.data)}
    document: JsonObject = {"type": "document", "source": source}
    if block.title:
        document["title"] = wire_text(block.title)
    return document


def _tool_result(block: ToolResultBlock) -> JsonObject:
    text = wire_text(block.content)
    if not text.strip() and not block.images:
        text = "(no output)"  # an empty error is refused
    content: JsonObject = {"type": "tool_result", "tool_use_id": safe_id(block.tool_use_id), "content": text}
    if block.images:
        content["content"] = [*_text(block.content), *(_image(image) for image in block.images)]
    if block.is_error:
        content["is_error"] = True
    return content


def arguments_object(arguments_json: str) -> JsonObject:
    """Give the arguments as the object the wire needs; {} for text that is no object, which ran nothing."""
    try:
        parsed: object = parse_json(without_half_pairs(arguments_json))
    except ValueError:
        return {}
    return cast(JsonObject, parsed) if isinstance(parsed, dict) else {}


def safe_id(text: str) -> str:
    """Replace characters that an id or a tool name must not have; other servers' ids may hold them."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text) or "_"


def wire_text(text: str) -> str:
    """Take out what no request may hold: NUL and lone surrogates."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _decoded(data: str) -> str:
    try:
        return wire_text(base64.b64decode(data).decode("utf-8", "replace"))
    except binascii.Error:
        return ""

"""Builds the body of a chat-completions request, as each server wants it."""

import hashlib
import json
from collections.abc import Sequence
from typing import cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.providers._anthropic_request import arguments_object, safe_id, wire_text
from agent_tui.providers.base import Effort, ProviderRequest
from agent_tui.providers.models import ModelFacts, server_effort
from agent_tui.providers.profiles import Profile

SIGNATURES = "google_thought_signatures"
"""The key under which the signatures of calls are kept in a redacted block, by call id."""


def build_chat_body(
    request: ProviderRequest, facts: ModelFacts, profile: Profile, *, provider: str
) -> JsonObject:
    """Give the arguments of `chat.completions.create`. The same prefix gives the same bytes."""
    model = facts.info.name
    messages: list[JsonObject] = []
    if request.system:
        messages.append({"role": "system", "content": wire_text(request.system)})
    for message in request.messages:
        if isinstance(message, UserMessage):
            messages.extend(_user(message, profile))
        else:
            own = (message.provider, message.model) == (provider, model)
            messages.extend(_assistant(message, profile, own=own))
    body: JsonObject = {"model": model, "messages": [*messages], "stream": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                },
            }
            for tool in request.tools
        ]
    if profile.usage_option:
        body["stream_options"] = {"include_usage": True}
    if request.max_output_tokens:
        body[profile.max_tokens_field] = request.max_output_tokens
    body.update(_effort(request.effort, facts, profile))
    return body


def _effort(effort: Effort, facts: ModelFacts, profile: Profile) -> JsonObject:
    if not effort:
        return {}
    word = server_effort(effort, facts) if facts.efforts else {"max": "high"}.get(effort, effort)
    if profile.reasoning == "openrouter":
        return {"reasoning": {"effort": word}}
    return {"reasoning_effort": word}


def _user(message: UserMessage, profile: Profile) -> list[JsonObject]:
    """Tool results become messages of their own, their images and the text follow as one user message."""
    results: list[JsonObject] = []
    parts: list[JsonObject] = []
    for block in message.content:
        match block:
            case ToolResultBlock():
                text = wire_text(block.content)
                if block.is_error and text:
                    text = f"Error: {text}"
                results.append(
                    {
                        "role": "tool",
                        "tool_call_id": call_id(block.tool_use_id, profile),
                        "content": text or ("Error" if block.is_error else "(no output)"),
                    }
                )
                parts.extend(_image(image) for image in block.images)
            case TextBlock():
                parts.extend([{"type": "text", "text": wire_text(block.text)}] if block.text.strip() else [])
            case ImageBlock():
                parts.append(_image(block))
            case DocumentBlock():
                parts.append(_document(block))
    if not parts:
        return results
    texts = [cast(str, part["text"]) for part in parts if part["type"] == "text"]
    # plain texts as one string: some local servers read nothing else
    content = "\n\n".join(texts) if len(texts) == len(parts) else [*parts]
    return [*results, {"role": "user", "content": cast("str", content)}]


def _image(block: ImageBlock) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}


def _document(block: DocumentBlock) -> JsonObject:
    return {
        "type": "file",
        "file": {
            "filename": wire_text(block.title) or "document.pdf",
            "file_data": f"data:{block.media_type};base64,{block.data}",
        },
    }


def _assistant(message: AssistantMessage, profile: Profile, *, own: bool) -> list[JsonObject]:
    texts = [wire_text(b.text) for b in message.content if isinstance(b, TextBlock) and b.text.strip()]
    signatures = _signatures(message) if own else {}
    calls = [
        _call(block, profile, signatures.get(block.id, ""))
        for block in message.content
        if isinstance(block, ToolUseBlock)
    ]
    if not texts and not calls:
        return []
    wire: JsonObject = {"role": "assistant", "content": "\n\n".join(texts) if texts else None}
    if calls:
        wire["tool_calls"] = [*calls]
    if own:
        wire.update(_reasoning(message, profile))
    return [wire]


def _call(block: ToolUseBlock, profile: Profile, signature: str) -> JsonObject:
    call: JsonObject = {
        "id": call_id(block.id, profile),
        "type": "function",
        "function": {
            "name": safe_id(block.name)[:64],
            "arguments": json.dumps(arguments_object(block.arguments_json), ensure_ascii=False),
        },
    }
    if signature:
        call["extra_content"] = {"google": {"thought_signature": signature}}
    return call


def _reasoning(message: AssistantMessage, profile: Profile) -> JsonObject:
    thoughts = [block for block in message.content if isinstance(block, ThinkingBlock)]
    if not thoughts or not profile.sends_reasoning_back:
        return {}
    fields: JsonObject = {profile.sends_reasoning_back: wire_text("".join(block.text for block in thoughts))}
    if profile.reasoning == "openrouter":
        details = [detail for block in thoughts for detail in _details(block.signature)]
        if details:
            return {"reasoning_details": [*details]}
    return fields


def _details(signature: str) -> list[JsonObject]:
    try:
        parsed: object = parse_json(signature)
    except ValueError:
        return []
    return cast("list[JsonObject]", parsed) if isinstance(parsed, list) else []


def _signatures(message: AssistantMessage) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in message.content:
        if isinstance(block, RedactedThinkingBlock):
            kept = arguments_object(block.data).get(SIGNATURES)
            if isinstance(kept, dict):
                found.update({key: value for key, value in kept.items() if isinstance(value, str)})
    return found


def call_id(given: str, profile: Profile) -> str:
    """Give a call's id as the server accepts it; the same id always becomes the same."""
    if not profile.strict_ids:
        return safe_id(given)
    if len(given) == profile.strict_ids and given.isalnum():
        return given
    return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[: profile.strict_ids]


def used_ids(messages: Sequence[UserMessage | AssistantMessage]) -> set[str]:
    """Collect the ids of all calls so far; a new call must not take one of them."""
    return {
        block.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, ToolUseBlock)
    }

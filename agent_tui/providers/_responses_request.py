"""Builds the body of a responses-API request; nothing is stored at the server, reasoning goes back encrypted."""

import json

from pydantic import JsonValue

from agent_tui.protocol.data import JsonObject
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
from agent_tui.providers.base import ProviderRequest
from agent_tui.providers.models import ModelFacts, server_effort


def build_responses_body(request: ProviderRequest, facts: ModelFacts, *, provider: str) -> JsonObject:
    """Give the arguments of `responses.create`. The same prefix gives the same bytes."""
    model = facts.info.name
    items: list[JsonObject] = []
    for message in request.messages:
        if isinstance(message, UserMessage):
            items.extend(_user(message))
        else:
            items.extend(_assistant(message, own=(message.provider, message.model) == (provider, model)))
    body: JsonObject = {"model": model, "input": [*items], "stream": True, "store": False}
    if request.system:
        body["instructions"] = wire_text(request.system)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.max_output_tokens:
        body["max_output_tokens"] = request.max_output_tokens
    if facts.thinking == "effort":
        effort = server_effort(request.effort, facts)
        body["reasoning"] = {"summary": "auto", **({"effort": effort} if effort else {})}
        body["include"] = ["reasoning.encrypted_content"]
    return body


def _user(message: UserMessage) -> list[JsonObject]:
    items: list[JsonObject] = []
    parts: list[JsonObject] = []
    for block in message.content:
        match block:
            case ToolResultBlock():
                items.append(
                    {
                        "type": "function_call_output",
                        "call_id": safe_id(block.tool_use_id),
                        "output": _output(block),
                    }
                )
            case TextBlock():
                parts.extend(
                    [{"type": "input_text", "text": wire_text(block.text)}] if block.text.strip() else []
                )
            case ImageBlock():
                parts.append(_image(block))
            case DocumentBlock():
                parts.append(
                    {
                        "type": "input_file",
                        "filename": wire_text(block.title) or "document.pdf",
                        "file_data": f"data:{block.media_type};base64,{block.data}",
                    }
                )
    if parts:
        items.append({"type": "message", "role": "user", "content": [*parts]})
    return items


def _output(block: ToolResultBlock) -> JsonValue:  # a text, or parts when there are images
    text = wire_text(block.content)
    text = f"Error: {text}" if block.is_error else text or "(no output)"
    if not block.images:
        return text
    return [{"type": "input_text", "text": text}, *(_image(image) for image in block.images)]


def _image(block: ImageBlock) -> JsonObject:
    return {
        "type": "input_image",
        "detail": "auto",
        "image_url": f"data:{block.media_type};base64,{block.data}",
    }


def _assistant(message: AssistantMessage, *, own: bool) -> list[JsonObject]:
    items: list[JsonObject] = []
    for block in message.content:
        match block:
            case TextBlock() if block.text.strip():
                items.append({"role": "assistant", "content": wire_text(block.text)})
            case ToolUseBlock():
                items.append(
                    {
                        "type": "function_call",
                        "call_id": safe_id(block.id),
                        "name": safe_id(block.name)[:64],
                        "arguments": json.dumps(arguments_object(block.arguments_json), ensure_ascii=False),
                    }
                )
            case ThinkingBlock() if own:
                items.extend(_reasoning(block))
            case TextBlock() | ThinkingBlock() | RedactedThinkingBlock():
                pass
    while items and items[-1].get("type") == "reasoning":
        items.pop()  # reasoning must be followed by what it led to
    return items


def _reasoning(block: ThinkingBlock) -> list[JsonObject]:
    kept = arguments_object(block.signature)
    if not kept.get("encrypted_content"):
        return []
    summary: list[JsonObject] = [{"type": "summary_text", "text": block.text}] if block.text else []
    return [
        {
            "type": "reasoning",
            "id": kept.get("id", ""),
            "summary": [*summary],
            "encrypted_content": kept["encrypted_content"],
        }
    ]

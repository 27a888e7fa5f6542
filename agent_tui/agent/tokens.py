"""Estimates tokens: four characters each, four more per message."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

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
from agent_tui.protocol.tools import ToolSpec

CHARS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_IMAGE = 1_600
_BASE64_BYTES_PER_PAGE_TOKEN = 30


def text_tokens(text: str) -> int:
    """Estimate the tokens of `text`, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def block_tokens(block: UserBlock | AssistantBlock) -> int:
    """Estimate the tokens of one block."""
    match block:
        case TextBlock() | ThinkingBlock():
            return text_tokens(block.text)
        case RedactedThinkingBlock():
            return text_tokens(block.data)
        case ImageBlock():
            return TOKENS_PER_IMAGE
        case DocumentBlock():
            return max(TOKENS_PER_IMAGE, len(block.data) // _BASE64_BYTES_PER_PAGE_TOKEN)
        case ToolUseBlock():
            return text_tokens(block.name) + text_tokens(block.arguments_json)
        case ToolResultBlock():
            return text_tokens(block.content) + TOKENS_PER_IMAGE * len(block.images)
        case _:
            assert_never(block)


def message_tokens(message: UserMessage | AssistantMessage) -> int:
    """Estimate the tokens of one message."""
    return TOKENS_PER_MESSAGE + sum(block_tokens(block) for block in message.content)


def history_tokens(messages: Sequence[UserMessage | AssistantMessage]) -> int:
    """Estimate the tokens of a conversation."""
    return sum(message_tokens(message) for message in messages)


def tool_tokens(spec: ToolSpec) -> int:
    """Estimate the tokens of one tool's description and schema."""
    return text_tokens(spec.name + spec.description) + text_tokens(json.dumps(spec.input_schema))


@dataclass(frozen=True)
class ContextShare:
    """One line of the context table. `tokens` is an estimate."""

    category: str
    tokens: int


def context_shares(
    *,
    system: str,
    tools: Sequence[ToolSpec],
    messages: Sequence[UserMessage | AssistantMessage],
    environment: str = "",
    limit_tokens: int = 0,
) -> tuple[ContextShare, ...]:
    """Split the context by category: system, tools, MCP, instructions and environment, messages, results, free.

    `environment` is the text of the first message that we wrote; `limit_tokens` 0 leaves out what is free.
    """
    foreign = sum(tool_tokens(spec) for spec in tools if spec.name.startswith("mcp__"))
    own = sum(tool_tokens(spec) for spec in tools if not spec.name.startswith("mcp__"))
    results = sum(
        block_tokens(block)
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    )
    surroundings = text_tokens(environment)
    talk = max(0, history_tokens(messages) - results - surroundings)
    shares = [
        ContextShare("system prompt", text_tokens(system)),
        ContextShare("tools", own),
        ContextShare("MCP tools", foreign),
        ContextShare("instructions and environment", surroundings),
        ContextShare("messages", talk),
        ContextShare("tool results", results),
    ]
    if limit_tokens:
        shares.append(ContextShare("free", max(0, limit_tokens - sum(share.tokens for share in shares))))
    return tuple(shares)

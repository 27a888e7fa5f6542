"""Reads from a conversation what must survive when it is summarised."""

from collections.abc import Iterator, Sequence
from typing import cast

from agent_tui.agent.notes import CLOSE, OPEN, is_note
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

RESULT_CHARS = 500
_ARGUMENT_CHARS = 1_000
_MAX_FILES = 50
_MAX_SKILL_CHARS = 20_000
_CARRIED_HEADS = ("Files read", "Files changed", "The todo list", "Loaded skill")
_READERS = frozenset({"read"})
_WRITERS = frozenset({"write", "edit", "multiedit", "patch", "apply_patch"})


def transcript(messages: Sequence[UserMessage | AssistantMessage]) -> str:
    """Write the conversation as plain text for a summary; tool results are cut to 500 characters."""
    return "\n\n".join(line for message in messages for line in _lines(message))


def carried_over(messages: Sequence[UserMessage | AssistantMessage]) -> tuple[str, ...]:
    """Give texts that survive the summary: files read and changed, the todo list, loaded skills.

    What an earlier compaction carried over counts too, so nothing is lost by a second one.
    """
    earlier = _earlier(messages)
    results = {
        block.tool_use_id: block
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }
    read: dict[str, None] = dict.fromkeys(earlier.get("Files read", "").splitlines())
    changed: dict[str, None] = dict.fromkeys(earlier.get("Files changed", "").splitlines())
    todo, skills = (
        earlier.get("The todo list", ""),
        {head: body for head, body in earlier.items() if head.startswith("Loaded skill")},
    )
    for use in _uses(messages):
        result = results.get(use.id)
        if result is None or result.is_error:
            continue
        if use.name in _READERS:
            read.update(dict.fromkeys(_paths(use)))
        elif use.name in _WRITERS:
            changed.update(dict.fromkeys(_paths(use)))
        elif use.name == "todowrite":
            todo = use.arguments_json
        elif use.name == "skill":
            skills[f"Loaded skill {use.arguments_json}"] = result.content[:_MAX_SKILL_CHARS]
    parts = [
        ("Files read", "\n".join(list(read)[-_MAX_FILES:])),
        ("Files changed", "\n".join(list(changed)[-_MAX_FILES:])),
        ("The todo list", todo),
        *skills.items(),
    ]
    return tuple(f"{head}:\n{body}" for head, body in parts if body)


def _earlier(messages: Sequence[UserMessage | AssistantMessage]) -> dict[str, str]:
    found: dict[str, str] = {}
    for message in messages:
        for block in message.content if isinstance(message, UserMessage) else ():
            if isinstance(block, TextBlock) and block.text.startswith(OPEN):
                head, _, body = block.text.removeprefix(OPEN).partition(":\n")
                if head.startswith(_CARRIED_HEADS):
                    before = f"{found[head]}\n" if head.startswith("Files") and head in found else ""
                    found[head] = before + body.removesuffix(CLOSE)
    return found


def _uses(messages: Sequence[UserMessage | AssistantMessage]) -> Iterator[ToolUseBlock]:
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                yield block


def _paths(use: ToolUseBlock) -> Iterator[str]:
    try:
        arguments = parse_json(use.arguments_json)
    except ValueError:
        return
    if isinstance(arguments, dict):
        for key in ("file_path", "path"):
            value = cast("dict[str, object]", arguments).get(key)
            if isinstance(value, str) and value and "\n" not in value:
                yield value


def _lines(message: UserMessage | AssistantMessage) -> Iterator[str]:
    for block in message.content:
        match block:
            case TextBlock() if isinstance(message, AssistantMessage):
                yield f"Assistant: {block.text}"
            case TextBlock() if not is_note(block.text) or "Summary of the conversation" in block.text:
                yield f"User: {block.text}"
            case ToolUseBlock():
                yield f"Call {block.name}: {_cut(block.arguments_json, _ARGUMENT_CHARS)}"
            case ToolResultBlock():
                yield f"Result{' (error)' if block.is_error else ''}: {_cut(block.content, RESULT_CHARS)}"
            case _:
                pass


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"

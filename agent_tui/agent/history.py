"""Makes any conversation one that a strict server accepts."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent_tui.agent.notes import note
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

Messages = tuple[UserMessage | AssistantMessage, ...]

INTERRUPTED = (
    "Interrupted: this call got no answer. It may or may not have taken effect; check before you repeat it."
)
NO_OUTPUT = "(no output)"
_OPENING = note("The beginning of this conversation is not available.")
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_REASONING = (ThinkingBlock, RedactedThinkingBlock)
_MAX_ID_CHARS = 64
_MAX_NAME_CHARS = 128


def repair(messages: Sequence[UserMessage | AssistantMessage], provider: str, model: str) -> Messages:
    """Give the conversation as `provider`/`model` may see it; repairing a repaired one changes nothing.

    Afterwards: roles alternate and start with the user; no empty text, broken image or empty message; thinking is
    only what this very provider and model signed; every call has a valid id that is unique, valid JSON
    arguments and exactly one result, in order, at the start of the next message; no result without its call.
    The last message may be the assistant's: only the caller knows whether that is wanted.
    """
    return RepairedHistory(provider, model).of(messages)


class RepairedHistory:
    """Repairs a conversation that grows, each message only once: a turn takes no longer after a thousand others."""

    def __init__(self, provider: str, model: str) -> None:
        self.signer = (provider, model)
        self._final: list[UserMessage | AssistantMessage] = []
        self._final_count = 0
        self._used: set[str] = set()

    def of(self, messages: Sequence[UserMessage | AssistantMessage]) -> Messages:
        """Give `messages` repaired. They must begin with those of the call before, unchanged."""
        rest = messages[self._final_count :]
        settled = self._settled(rest)
        if settled:
            self._final += self._repair(rest[:settled], self._used)
            self._final_count += settled
            rest = rest[settled:]
        return (*self._final, *self._repair(rest, set(self._used)))

    def _settled(self, rest: Sequence[UserMessage | AssistantMessage]) -> int:
        """Count the messages that nothing can change any more: those before the last reply to the user."""
        for index in range(len(rest) - 1, 0, -1):
            before, message = rest[index - 1], rest[index]
            if (
                isinstance(message, AssistantMessage)
                and isinstance(before, UserMessage)
                and _clean(message, *self.signer) is not None
                and _clean(before, *self.signer) is not None
            ):
                return index
        return 0

    def _repair(
        self, messages: Sequence[UserMessage | AssistantMessage], used: set[str]
    ) -> list[UserMessage | AssistantMessage]:
        cleaned = [new for message in messages if (new := _clean(message, *self.signer)) is not None]
        merged = _merge(cleaned)
        if self._final_count == 0 and merged and isinstance(merged[0], AssistantMessage):
            merged.insert(0, UserMessage(content=(TextBlock(text=_OPENING),)))
        return list(_Pairing(used).run(merged))


def without_attachments(messages: Sequence[UserMessage | AssistantMessage]) -> Messages:
    """Give the conversation without images, documents and thinking: the last resort after a refused request."""
    return tuple(_plain(message) for message in messages)


def has_attachments(messages: Sequence[UserMessage | AssistantMessage]) -> bool:
    """Tell whether `without_attachments` would change anything."""
    return any(_plain(message) != message for message in messages)


def _clean(
    message: UserMessage | AssistantMessage, provider: str, model: str
) -> UserMessage | AssistantMessage | None:
    if isinstance(message, UserMessage):
        content = tuple(_user_block(block) for block in message.content if _usable(block))
        return _with_content(message, content)
    same_signer = (message.provider, message.model) == (provider, model)
    kept = list(_assistant_blocks(message.content, same_signer=same_signer, provider=provider))
    while kept and isinstance(kept[-1], _REASONING):
        kept.pop()  # a reply must not end in reasoning; what is left of one that was cut does
    return _with_content(message, tuple(kept))


def _with_content(
    message: UserMessage | AssistantMessage, content: tuple[UserBlock | AssistantBlock, ...]
) -> UserMessage | AssistantMessage | None:
    if not content:
        return None
    return message if content == message.content else message.model_copy(update={"content": content})


def _usable(block: UserBlock) -> bool:
    match block:
        case TextBlock():
            return bool(block.text.strip())
        case ImageBlock():
            return block.media_type in _IMAGE_TYPES and _is_base64(block.data)
        case DocumentBlock():
            return _is_base64(block.data)
        case ToolResultBlock():
            return True


def _user_block(block: UserBlock) -> UserBlock:
    if not isinstance(block, ToolResultBlock):
        return block
    images = tuple(image for image in block.images if _usable(image))
    content = block.content if block.content.strip() else NO_OUTPUT
    if images == block.images and content == block.content:
        return block
    return block.model_copy(update={"images": images, "content": content})


def _assistant_blocks(
    blocks: Iterable[AssistantBlock], *, same_signer: bool, provider: str
) -> Iterable[AssistantBlock]:
    for block in blocks:
        match block:
            case TextBlock():
                if block.text.strip():
                    yield block
            case ThinkingBlock():
                if same_signer and (block.signature or provider != "anthropic"):
                    yield block
            case RedactedThinkingBlock():
                if same_signer and block.data:
                    yield block
            case ToolUseBlock():
                name = _safe(block.name, fallback="unknown", limit=_MAX_NAME_CHARS)
                arguments = block.arguments_json if _is_object(block.arguments_json) else "{}"
                if (name, arguments) != (block.name, block.arguments_json):
                    block = block.model_copy(update={"name": name, "arguments_json": arguments})
                yield block


def _safe(text: str, *, fallback: str, limit: int) -> str:
    """Replace what servers refuse in ids and names."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in text)
    return safe[:limit] or fallback


def _is_object(arguments_json: str) -> bool:
    try:
        return isinstance(parse_json(arguments_json), dict)
    except ValueError:
        return False


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


def _merge(messages: Iterable[UserMessage | AssistantMessage]) -> list[UserMessage | AssistantMessage]:
    merged: list[UserMessage | AssistantMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            merged[-1] = last.model_copy(
                update={"content": last.content + message.content, "pinned": last.pinned or message.pinned}
            )
        elif isinstance(message, AssistantMessage) and isinstance(last, AssistantMessage):
            if any(isinstance(block, ToolUseBlock) for block in last.content):
                merged.extend((UserMessage(content=()), message))
            else:
                # reasoning is only in replies of the present model, so the joined reply must count as one
                signer = last if any(isinstance(block, _REASONING) for block in last.content) else message
                merged[-1] = message.model_copy(
                    update={
                        "content": last.content + message.content,
                        "provider": signer.provider,
                        "model": signer.model,
                    }
                )
        else:
            merged.append(message)
    return merged


@dataclass
class _Pairing:
    """Gives every call its one result; `used` are the ids seen so far in the whole conversation."""

    used: set[str] = field(default_factory=set[str])

    def run(
        self, messages: Sequence[UserMessage | AssistantMessage]
    ) -> Iterable[UserMessage | AssistantMessage]:
        names: dict[str, str] = {}
        for message in messages:
            if isinstance(message, AssistantMessage):
                if names:
                    yield _answers(names, ())
                message, names = self._with_unique_ids(message)
                yield message
                continue
            answered = _answers(names, message.content)
            names = {}
            content = answered.content
            if content:
                yield (
                    message if content == message.content else message.model_copy(update={"content": content})
                )
            else:
                yield UserMessage(content=(TextBlock(text=note("Go on.")),))
        if names:
            yield _answers(names, ())

    def _with_unique_ids(self, message: AssistantMessage) -> tuple[AssistantMessage, dict[str, str]]:
        """Rename ids that cannot stand; the mapping goes from the new id to the one in the results."""
        names: dict[str, str] = {}
        content: list[AssistantBlock] = []
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                unique = self._unique(block.id)
                names[unique] = block.id
                if unique != block.id:
                    block = block.model_copy(update={"id": unique})
            content.append(block)
        if tuple(content) != message.content:
            message = message.model_copy(update={"content": tuple(content)})
        return message, names

    def _unique(self, call_id: str) -> str:
        stem = _safe(call_id, fallback="call", limit=_MAX_ID_CHARS)
        unique, number = stem, 1
        while unique in self.used:
            number += 1
            tail = f"-{number}"
            unique = stem[: _MAX_ID_CHARS - len(tail)] + tail
        self.used.add(unique)
        return unique


def _answers(names: dict[str, str], content: Sequence[UserBlock]) -> UserMessage:
    """Put one result per call of `names` (new id -> old id) first, then what else the message says."""
    given: dict[str, list[ToolResultBlock]] = {}
    for block in content:
        if isinstance(block, ToolResultBlock):
            given.setdefault(block.tool_use_id, []).append(block)
    results: list[UserBlock] = []
    for unique, original in names.items():
        found = given.get(original)
        result = (
            found.pop(0) if found else ToolResultBlock(tool_use_id=unique, content=INTERRUPTED, is_error=True)
        )
        if result.tool_use_id != unique:
            result = result.model_copy(update={"tool_use_id": unique})
        results.append(result)
    rest = [block for block in content if not isinstance(block, ToolResultBlock)]
    return UserMessage(content=(*results, *rest))


def _plain(message: UserMessage | AssistantMessage) -> UserMessage | AssistantMessage:
    left_out = TextBlock(
        text=note("An image or document was left out: the server did not accept the request.")
    )
    if isinstance(message, UserMessage):
        content = tuple(_plain_block(block, left_out) for block in message.content)
    else:
        content = tuple(block for block in message.content if not isinstance(block, _REASONING))
    return message if content == message.content else message.model_copy(update={"content": content})


def _plain_block(block: UserBlock, left_out: TextBlock) -> UserBlock:
    match block:
        case ImageBlock() | DocumentBlock():
            return left_out
        case ToolResultBlock() if block.images:
            return block.model_copy(update={"images": (), "content": f"{block.content}\n{left_out.text}"})
        case _:
            return block

"""A conversation as the model sees it: messages made of content blocks."""

from typing import Annotated, Literal

from pydantic import Field

from agent_tui.protocol.data import Data


class TextBlock(Data):
    """Plain or markdown text."""

    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(Data):
    """A model's reasoning. `signature` goes back to the same provider and model unchanged."""

    type: Literal["thinking"] = "thinking"
    text: str
    signature: str = ""


class RedactedThinkingBlock(Data):
    """Reasoning that the provider encrypted; goes back unchanged."""

    type: Literal["redacted_thinking"] = "redacted_thinking"
    data: str


class ImageBlock(Data):
    """An image; `data` is base64 without line breaks. `label` names it to a person: format, pixels, size, name."""

    type: Literal["image"] = "image"
    media_type: str
    data: str
    label: str = ""

    @property
    def shown(self) -> str:
        """The line that stands for it on a screen; it may hold any characters."""
        return self.label or f"{self.media_type}, {len(self.data) * 3 // 4:,} bytes"


class DocumentBlock(Data):
    """A PDF or another document; `data` is base64 without line breaks."""

    type: Literal["document"] = "document"
    media_type: str = "application/pdf"
    data: str
    title: str = ""


class ToolUseBlock(Data):
    """A call the model asks for. `arguments_json` is the model's own text, valid JSON or not."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    arguments_json: str = "{}"


class ToolResultBlock(Data):
    """The answer to one ToolUseBlock, found by its id."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str
    is_error: bool = False
    images: tuple[ImageBlock, ...] = ()


UserBlock = Annotated[TextBlock | ImageBlock | DocumentBlock | ToolResultBlock, Field(discriminator="type")]
AssistantBlock = Annotated[
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock, Field(discriminator="type")
]

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "context_overflow",
    "other",
]


class TokenUsage(Data):
    """Tokens of one request or a sum of several. `input_tokens` excludes what the cache read or wrote."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class UserMessage(Data):
    """What a person said, or the results of a round. `pinned` survives compaction."""

    role: Literal["user"] = "user"
    content: tuple[UserBlock, ...]
    pinned: bool = False


class AssistantMessage(Data):
    """One reply of a model. `provider` and `model` say who signed its thinking blocks."""

    role: Literal["assistant"] = "assistant"
    content: tuple[AssistantBlock, ...]
    provider: str = ""
    model: str = ""
    stop_reason: StopReason = "end_turn"
    usage: TokenUsage = TokenUsage()

    def model_post_init(self, _context: object, /) -> None:
        """Forget which fields were named: nobody asks, and these sets are a sixth of what a long session adds."""
        self.__pydantic_fields_set__.clear()


Message = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]

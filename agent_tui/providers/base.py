"""What the loop knows of a model: a request goes out, deltas come back, a whole message ends them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from agent_tui.protocol.messages import AssistantMessage, TokenUsage, UserMessage
from agent_tui.protocol.tools import ToolSpec

Effort = Literal["", "low", "medium", "high", "max"]


@dataclass(frozen=True)
class ProviderRequest:
    """One request. `system` and `tools` are byte-stable within a session so that the cached prefix holds.

    `max_output_tokens` 0 means the provider's default for the model; `effort` "" likewise.
    """

    system: str
    messages: tuple[UserMessage | AssistantMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 0
    effort: Effort = ""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """More reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """A call began, or more of its arguments came (`arguments_json` may be a fragment); for display only."""

    call_id: str
    name: str
    arguments_json: str = ""


@dataclass(frozen=True, slots=True)
class Completed:
    """The reply is whole. Always the last delta; without it the stream was cut."""

    message: AssistantMessage


@dataclass(frozen=True, slots=True)
class Counted:
    """What the server has counted for this reply so far, in place of an earlier count; Completed holds the last one.

    With `is_lost` the attempt failed: its tokens are spent, and the next counts are another attempt's.
    """

    usage: TokenUsage
    is_lost: bool = False


Delta = TextPiece | ThinkingPiece | ToolCallPiece | Counted | Completed


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model: `context_tokens`, `max_output_tokens`, prices in USD per million tokens.

    None is "not known", never a guess; that goes for `input_usd_per_mtok`, `output_usd_per_mtok`,
    `cache_read_usd_per_mtok` and `cache_write_usd_per_mtok` too. `sees_images`, `reads_pdfs` and `thinks` say that a request
    may hold pictures, PDF files and an effort.

    A request whose prompt (with what the cache read and wrote) is longer than `long_prompt_from_tokens` costs
    `long_prompt_input_factor` times as much for input and cache, `long_prompt_output_factor` for output.
    """

    name: str
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    cache_read_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None
    sees_images: bool = False
    reads_pdfs: bool = False
    thinks: bool = False
    long_prompt_from_tokens: int | None = None
    long_prompt_input_factor: float = 1.0
    long_prompt_output_factor: float = 1.0


class Provider(Protocol):
    """A model that can be asked."""

    @property
    def name(self) -> str:
        """The provider's short name: anthropic, openai, offline, scripted."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the server knows it."""
        ...

    @property
    def context_tokens(self) -> int:
        """The model's window; 0 when not known."""
        ...

    @property
    def info(self) -> ModelInfo:
        """Prices and abilities."""
        ...

    def stream(self, request: ProviderRequest) -> AbstractAsyncContextManager[AsyncIterator[Delta]]:
        """Send `request` once and give its deltas; leaving the context drops the request.

        Raises a ProviderError: AuthError, RateLimited, Overloaded, ContextTooLong, BadResponse, StreamCut. Does
        not retry by itself: `providers.retry` does, visibly.
        """
        ...

    async def models(self) -> Sequence[str]:
        """List the models the server offers. Raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """A provider whose server can say how large a request is before it is sent."""

    async def count_tokens(self, request: ProviderRequest) -> int | None:
        """Ask how many tokens `request` is; None when this server does not count. Raises ProviderError."""
        ...

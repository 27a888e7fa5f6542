"""What the program lends its servers: folders, a person to ask, a model."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from agent_tui.toolkit.context import Ask


@dataclass(frozen=True)
class SampleRequest:
    """What a server wants the model to answer. `turns` are (role, text), role "user" or "assistant"."""

    server: str
    system: str
    turns: tuple[tuple[str, str], ...]
    max_tokens: int


@dataclass(frozen=True)
class SampleReply:
    """What the model said. `cut` says that it reached its limit."""

    text: str
    model: str
    cut: bool = False


Sampler = Callable[[SampleRequest], Awaitable[SampleReply]]


def nobody() -> Ask | None:
    """Nobody can be asked."""
    return None


@dataclass(frozen=True)
class Desk:
    """Where a server's requests go. `ask` gives whoever answers now, None when nobody does.

    `interactive` says that somebody may answer later: only then are servers told that they can ask. `roots` are real
    paths, the workspace first.
    """

    roots: tuple[Path, ...]
    ask: Callable[[], Ask | None] = nobody
    sampler: Sampler | None = None
    interactive: bool = False

"""What the interface needs in order to look at the model's context, shorten it, and ask beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

EFFORTS = ("", "low", "medium", "high", "max")

Side = Literal["from", "before"]
"""What of a conversation is meant: a prompt with all that follows, or all that was said before it."""


@dataclass(frozen=True)
class ShareView:
    """One part of the context. `tokens` is an estimate."""

    category: str
    tokens: int


@dataclass(frozen=True)
class DraftView:
    """A summary that is not used yet; with an empty `text` `problem` says why there is none."""

    text: str
    problem: str = ""


class Talk(Protocol):
    """The conversation of the open session as the model sees it. Async methods may raise AgentTuiError."""

    @property
    def effort(self) -> str:
        """How much the model thinks; "" leaves it to the model."""
        ...

    def set_effort(self, effort: str) -> str:
        """Choose one of EFFORTS for the requests that follow; give a sentence."""
        ...

    def shares(self) -> Sequence[ShareView]:
        """Split the context by what fills it."""
        ...

    async def count(self) -> str:
        """Let the server count the next request; give what it said, "" when it does not count."""
        ...

    def last_reply(self) -> str:
        """Give the text of the last reply, "" when there is none."""
        ...

    async def aside(self, question: str) -> str:
        """Answer a question beside the conversation, also while a turn runs."""
        ...

    async def draft(self, focus: str) -> DraftView:
        """Let the model write a summary of the older messages; nothing is replaced yet."""
        ...

    async def compact(self, summary: str) -> str:
        """Put a summary in the place of the older messages; give a sentence."""
        ...

    async def draft_part(self, entry_id: str, side: Side) -> DraftView:
        """Let the model write a summary of what was said from a prompt on, or before it; nothing is replaced yet."""
        ...

    async def compact_part(self, entry_id: str, side: Side, summary: str) -> str:
        """Put that summary in the place of that part; give a sentence. Files stay as they are."""
        ...

    async def undo_compaction(self) -> str:
        """Bring the messages back that the last compaction replaced; give a sentence."""
        ...

    async def pin(self, text: str) -> str:
        """Tell the model something that every compaction keeps; give a sentence."""
        ...

    def pins(self) -> Sequence[str]:
        """List what is pinned."""
        ...

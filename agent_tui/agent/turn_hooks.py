"""What code outside may do to a turn: stop a prompt, add to it, keep the turn going, end it, stop a compaction."""

from dataclasses import dataclass
from typing import Protocol

from agent_tui.agent.notes import CLOSE, note

MAX_GO_ONS = 3
"""How often in one turn a hook may keep the model from ending it."""


@dataclass(frozen=True)
class PromptSaid:
    """What hooks say of a prompt: why it must not be sent ("" lets it pass), and what the model is told beside it."""

    block: str = ""
    context: str = ""


@dataclass(frozen=True)
class CompactionSaid:
    """What hooks say of a compaction: why not ("" lets it pass), and what the summary should mind."""

    block: str = ""
    focus: str = ""


class TurnHooks(Protocol):
    """Looks at the turns of a main agent. Nothing here raises: a hook that fails is settled before."""

    async def ready(self) -> None:
        """Wait for what must come before a turn; `prompt` waits for it too."""
        ...

    async def prompt(self, text: str) -> PromptSaid:
        """Look at what the person wrote before it is recorded."""
        ...

    async def stopping(self, reply: str, *, times: int) -> str:
        """Give what is left to do when the model would end the turn with `reply`; "" lets it.

        `times` counts how often this turn was kept going already.
        """
        ...

    async def compacting(self, *, by_hand: bool) -> CompactionSaid:
        """Look at a compaction before it begins."""
        ...

    def halted(self) -> str:
        """Give, once, why a hook wants the turn to end after the round that just ran; "" when none does."""
        ...


class NoTurnHooks:
    """Nobody listens."""

    async def ready(self) -> None:
        """Wait for nothing."""

    async def prompt(self, text: str) -> PromptSaid:
        """Let it pass."""
        return PromptSaid()

    async def stopping(self, reply: str, *, times: int) -> str:
        """Let the turn end."""
        return ""

    async def compacting(self, *, by_hand: bool) -> CompactionSaid:
        """Let it begin."""
        return CompactionSaid()

    def halted(self) -> str:
        """Let the turn go on."""
        return ""


def hook_note(text: str) -> str:
    """Mark what a hook adds as not the person's words; it cannot close the mark itself."""
    return note(text.replace(CLOSE, CLOSE.replace("/", "\\/")))

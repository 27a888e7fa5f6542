import asyncio
from collections.abc import Sequence

from agent_tui.ui.rulings import DecisionView, LastingScope
from agent_tui.ui.talk import DraftView, ShareView


class FakeTalk:
    """Remembers what is done with the context; `reply` is the last reply, `summary` what a draft gives."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.effort = ""
        self.reply = ""
        self.summary = "Goal: petals."
        self.pinned: list[str] = []
        self.counted = ""
        self.gate: asyncio.Event | None = None

    def set_effort(self, effort: str) -> str:
        self.effort = effort
        return f"The effort is {effort}."

    def shares(self) -> Sequence[ShareView]:
        return [ShareView("system prompt", 1_500), ShareView("tools", 4_000), ShareView("messages", 6_500)]

    async def count(self) -> str:
        return self.counted

    def last_reply(self) -> str:
        return self.reply

    async def aside(self, question: str) -> str:
        self.calls.append(f"aside {question}")
        return "Forty-two."

    async def draft(self, focus: str) -> DraftView:
        self.calls.append(f"draft {focus}".strip())
        if self.gate is not None:
            await self.gate.wait()
        return DraftView(self.summary, "" if self.summary else "There is too little to be summarised.")

    async def compact(self, summary: str) -> str:
        self.calls.append(f"compact {summary}".strip())
        return "Compacted from 12k to 3k tokens."

    async def draft_part(self, entry_id: str, side: str) -> DraftView:
        self.calls.append(f"draft {side} {entry_id}")
        return DraftView(self.summary, "" if self.summary else "There is too little to be summarised.")

    async def compact_part(self, entry_id: str, side: str, summary: str) -> str:
        self.calls.append(f"compact {side} {entry_id} {summary}")
        return "A summary stands there."

    async def undo_compaction(self) -> str:
        self.calls.append("undo_compaction")
        return "The compaction is taken back."

    async def pin(self, text: str) -> str:
        self.pinned.append(text)
        return "Pinned."

    def pins(self) -> Sequence[str]:
        return self.pinned


class FakeRulings:
    def __init__(self) -> None:
        self.views: list[DecisionView] = []
        self.promoted: list[tuple[int, str]] = []

    def recent(self) -> Sequence[DecisionView]:
        return self.views

    async def promote(self, number: int, scope: LastingScope) -> str:
        self.promoted.append((number, scope))
        return f"Kept for {scope}."

"""Writes a turn down and tells it: into the conversation, into the journal, to the sink."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.agent.conversation import Conversation
from agent_tui.agent.notes import note
from agent_tui.agent.turn import Turn
from agent_tui.protocol.events import (
    AssistantFinished,
    EventSink,
    Notice,
    RoundStarted,
    ToolDenied,
    TurnStarted,
)
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.messages import AssistantMessage, ImageBlock, TextBlock, UserBlock, UserMessage
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome


@dataclass
class Teller:
    """Records and tells what happens in the turns of one agent; `origin` stands in every event."""

    conversation: Conversation
    journal: Journal
    sink: EventSink
    origin: str = ""

    async def said(self, turn: Turn, message: UserMessage, text: str) -> None:
        """Record what the person said (`text` as typed), then tell it."""
        await self.journal.user_message(message, turn_id=turn.turn_id, text=text)
        self._append(turn, message)
        await self.delivered(turn, text, message.content)

    async def delivered(self, turn: Turn, text: str, blocks: Sequence[UserBlock] = ()) -> None:
        """Tell that the person's words, and what goes along, are on disk and on their way to the model."""
        images = tuple(block.shown for block in blocks if isinstance(block, ImageBlock))
        await self.sink(TurnStarted(turn_id=turn.turn_id, origin=self.origin, prompt=text, images=images))

    async def replied(self, turn: Turn, message: AssistantMessage) -> None:
        """Record a reply, then tell it."""
        self._append(turn, message)
        await self.journal.assistant_message(message, turn_id=turn.turn_id)
        await self.sink(AssistantFinished(turn_id=turn.turn_id, origin=self.origin, message=message))

    async def answered(self, turn: Turn, message: UserMessage) -> None:
        """Record the results of a round."""
        self._append(turn, message)
        await self.journal.round_finished(message, turn_id=turn.turn_id)

    async def refused(
        self, turn: Turn, calls: Sequence[ToolCall], outcomes: Sequence[ToolCallOutcome]
    ) -> None:
        """Record and tell a round of which no call was run."""
        round_index = turn.rounds
        turn.rounds += 1
        await self.journal.round_started(calls, turn_id=turn.turn_id)
        await self.sink(
            RoundStarted(
                turn_id=turn.turn_id, origin=self.origin, round_index=round_index, calls=tuple(calls)
            )
        )
        await self.unrun(turn, outcomes)

    async def unrun(self, turn: Turn, outcomes: Sequence[ToolCallOutcome]) -> None:
        """Record and tell the answers of calls that were not run, of a round that has begun."""
        for outcome in outcomes:
            await self.journal.outcome(outcome, turn_id=turn.turn_id)
            await self.sink(
                ToolDenied(
                    turn_id=turn.turn_id,
                    origin=self.origin,
                    call_id=outcome.tool_use_id,
                    tool=outcome.tool_name,
                    display_name=outcome.display_name,
                    title=outcome.title,
                    reason=outcome.result.output,
                    effect=outcome.effect,
                )
            )

    async def note(self, turn: Turn, text: str) -> None:
        """Tell the model something that nobody said."""
        message = UserMessage(content=(TextBlock(text=note(text)),))
        self._append(turn, message)
        await self.journal.user_message(message, turn_id=turn.turn_id, text="")

    async def notice(self, turn: Turn, text: str, *, returned: str = "") -> None:
        """Tell the person something; `returned` are words of theirs that were not sent."""
        await self.sink(
            Notice(turn_id=turn.turn_id, origin=self.origin, level="warning", text=text, returned=returned)
        )

    def _append(self, turn: Turn, message: UserMessage | AssistantMessage) -> None:
        self.conversation.append(message)
        turn.messages.append(message)

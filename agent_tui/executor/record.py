"""Gives every call its one answer: builds the outcome, writes it down, tells it."""

import logging
from dataclasses import dataclass

from agent_tui.executor.state import Refusal, RoundCall
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.events import (
    Event,
    EventSink,
    Notice,
    ToolDenied,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.tools import Effect, ToolCallOutcome, ToolResult
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.text import display_text

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recorder:
    """Answers the calls of one round. An answer that cannot be written down is answered by that fact instead."""

    tools: ToolSource
    journal: Journal
    sink: EventSink
    turn_id: str
    origin: str
    agent_name: str = ""

    async def started(self, item: RoundCall) -> None:
        """Tell that a call begins to run."""
        await self.sink(
            ToolStarted(
                turn_id=self.turn_id,
                origin=self.origin,
                call_id=item.call.call_id,
                tool=item.call.name,
                display_name=item.display_name,
                title=item.title,
                arguments_json=item.call.arguments_json,
            )
        )

    async def output(self, item: RoundCall, text: str) -> None:
        """Tell live output; nothing any more once the call is answered."""
        if not item.answered:
            await self.sink(
                ToolOutput(turn_id=self.turn_id, origin=self.origin, call_id=item.call.call_id, text=text)
            )

    async def notice(self, text: str) -> None:
        """Tell the person something that belongs to no call."""
        await self.sink(Notice(turn_id=self.turn_id, origin=self.origin, level="warning", text=text))

    async def refuse(self, item: RoundCall, refusal: Refusal) -> None:
        """Answer a call that does not run."""
        if item.answered:
            return
        text = "\n\n".join([refusal.text, *item.notes])
        result = ToolResult.error(text, data={"unasked": True} if refusal.unasked else None)
        outcome = self._outcome(
            item, result, display=display_text(text), effect=refusal.effect, elapsed_s=0.0
        )
        await self._keep(item, outcome)
        await self.sink(self._denied(item, refusal))

    async def finish(
        self,
        item: RoundCall,
        result: ToolResult,
        *,
        display: DisplayResult,
        summary: str,
        effect: Effect,
        elapsed_s: float,
    ) -> None:
        """Answer a call that ran. `display` and `summary` were made from the whole result."""
        outcome = self._outcome(
            item, result, display=display, effect=effect, elapsed_s=elapsed_s, summary=summary
        )
        kept = await self._keep(item, outcome)
        _LOG.debug("%s %s in %.3f s, %d characters", item.call.name, effect, elapsed_s, len(result.output))
        await self.sink(self._finished(item, kept))

    def pend(self, item: RoundCall, text: str) -> None:
        """Mark a call that waits for an answer from outside; nothing is written down or told."""
        item.outcome = self._outcome(
            item, ToolResult.error(text), display=display_text(text), effect="pending", elapsed_s=0.0
        )

    def _outcome(
        self,
        item: RoundCall,
        result: ToolResult,
        *,
        display: DisplayResult,
        effect: Effect,
        elapsed_s: float,
        summary: str = "",
    ) -> ToolCallOutcome:
        """Build the answer."""
        return ToolCallOutcome(
            tool_use_id=item.call.call_id,
            tool_name=item.call.name,
            call=item.call,
            result=result,
            display=display,
            display_name=item.display_name,
            title=item.title,
            summary=summary or f"[{item.call.name}: {effect.replace('_', ' ')}]",
            elapsed_s=elapsed_s,
            effect=effect,
        )

    async def _keep(self, item: RoundCall, outcome: ToolCallOutcome) -> ToolCallOutcome:
        """Set the answer and write it down; if that fails, the answer becomes a shorter one that says so."""
        item.outcome = outcome
        try:
            await self.journal.outcome(outcome, turn_id=self.turn_id)
        except Exception as error:  # whatever a journal raises, the pair of call and result must not break
            item.outcome = await self._fallback(item, outcome, error)
        return item.outcome

    async def _fallback(self, item: RoundCall, outcome: ToolCallOutcome, error: Exception) -> ToolCallOutcome:
        """Write down that the real answer could not be written down."""
        text = f"The call ended ({outcome.effect}), but its result could not be recorded: {error}"
        fallback = outcome.model_copy(
            update={"result": ToolResult.error(text), "display": display_text(text)}
        )
        try:
            await self.journal.outcome(fallback, turn_id=self.turn_id)
        except Exception:  # the disk is full or gone: the turn goes on in memory, and the person is told
            _LOG.warning("an outcome could not be recorded", exc_info=True)
        await self.notice(f"A result of {item.display_name} could not be recorded: {error}")
        return fallback

    def _denied(self, item: RoundCall, refusal: Refusal) -> Event:
        """Build the event of a call that did not run."""
        return ToolDenied(
            turn_id=self.turn_id,
            origin=self.origin,
            call_id=item.call.call_id,
            tool=item.call.name,
            display_name=item.display_name,
            title=item.title,
            reason=refusal.text,
            effect=refusal.effect,
        )

    def _finished(self, item: RoundCall, outcome: ToolCallOutcome) -> Event:
        """Build the event of a call that ran."""
        return ToolFinished(
            turn_id=self.turn_id,
            origin=self.origin,
            call_id=item.call.call_id,
            tool=item.call.name,
            display_name=item.display_name,
            title=item.title,
            is_error=outcome.result.is_error,
            output=outcome.result.output,
            display=outcome.display,
            summary=outcome.summary,
            elapsed_s=outcome.elapsed_s,
            effect=outcome.effect,
        )

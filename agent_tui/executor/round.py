"""Takes one round through its phases: prepare, collect, ask, run, review again, fill."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_tui.executor import answers
from agent_tui.executor.ask import Asking
from agent_tui.executor.bounded import StopSignal
from agent_tui.executor.context import ToolRoundCtx
from agent_tui.executor.prepare import Preparer
from agent_tui.executor.preview import Previewer
from agent_tui.executor.record import Recorder
from agent_tui.executor.state import Refusal, RoundCall
from agent_tui.executor.strategy import ToolRoundExecutor
from agent_tui.executor.verdicts import DeniedCalls
from agent_tui.protocol.events import RoundStarted
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome

_LOG = logging.getLogger(__name__)
_IN_PART = "only a part of this change was accepted, and the file changed since"


@dataclass
class Round:
    """One round from its calls to its outcomes. `known` are outcomes it already has from before a pause."""

    preparer: Preparer
    previewer: Previewer
    denied: DeniedCalls
    recorder: Recorder
    asking: Asking
    executor: ToolRoundExecutor
    contexts: Callable[[Sequence[RoundCall]], ToolRoundCtx]
    stop: StopSignal
    known: Mapping[str, ToolCallOutcome]

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> BatchResult:
        """Go through the phases."""
        items = [self.preparer.named(call) for call in calls]
        if items:
            items[0].context.files.start_round()
        for item in items:
            item.outcome = self.known.get(item.call.call_id)
        if await self._begun(items, round_index):
            await self._collect(items)
            await self._ask(items)
            await self._execute(items)
            await self._review_again(items)
            await self._fill(items)
        return BatchResult(
            outcomes=tuple(item.outcome for item in items if item.outcome is not None),
            pending=tuple(self.asking.deferred),
            cancelled=self.stop.pressed,
        )

    async def _begun(self, items: Sequence[RoundCall], round_index: int) -> bool:
        """Write down and tell that the round begins; without a record nothing of it runs."""
        calls = tuple(item.call for item in items)
        try:
            await self.recorder.journal.round_started(calls, turn_id=self.recorder.turn_id)
        except Exception as error:  # whatever a journal raises
            text = f"{answers.NOT_RUN}: the round could not be recorded: {error}"
            for item in items:
                await self.recorder.refuse(item, Refusal(text, "not_run"))
            return False
        await self.recorder.sink(
            RoundStarted(
                turn_id=self.recorder.turn_id,
                origin=self.recorder.origin,
                round_index=round_index,
                calls=calls,
            )
        )
        return True

    async def _collect(self, items: Sequence[RoundCall]) -> None:
        """Check every call and answer at once what cannot or may not run."""
        for item in items:
            if item.answered or self.stop.pressed:
                continue
            refusal = await self.preparer.check(item)
            before = self.denied.text(item.call) if refusal is None and item.asking else ""
            if before:
                refusal = Refusal(answers.denied_before(before), "denied")
            if refusal is not None:
                await self.recorder.refuse(item, refusal)

    async def _ask(self, items: Sequence[RoundCall]) -> None:
        """Show what the calls would do and ask once for all that remains."""
        open_items = [item for item in items if not item.answered]
        for item, refusal in await self.previewer.show(open_items):
            await self.recorder.refuse(item, refusal)
        foreign_before = False
        for item in open_items:
            item.may_change = foreign_before
            foreign_before = foreign_before or (not item.answered and item.may_change_files)
        for item in open_items:
            if not item.answered and item.asking and not self.stop.pressed:
                refusal = await self.preparer.question(item)
                if refusal is not None:
                    await self.recorder.refuse(item, refusal)
        asked = [item for item in open_items if not item.answered and item.asking]
        if asked and not self.stop.pressed:
            fresh = [item for item in items if item.call.call_id not in self.known]
            await self.asking.ask(asked, among=fresh)
        if self.asking.deferred and not self.asking.partial:
            for item in open_items:
                if not item.answered:
                    self.recorder.pend(item, answers.PENDING)

    async def _execute(self, items: Sequence[RoundCall]) -> None:
        """Hand the calls that may run to the executor."""
        ready = [item for item in items if not item.answered]
        if not ready or self.stop.pressed:
            return
        ctx = self.contexts(ready)
        try:
            await self.executor.execute_round(ctx, [item.call for item in ready])
        except Exception as error:  # foreign code: an injected executor must not cost the round its answers
            _LOG.warning("the round executor failed", exc_info=True)
            await self.recorder.notice(f"The round executor failed: {error}")

    async def _review_again(self, items: Sequence[RoundCall]) -> None:
        """Ask a second time, in one review, for approved calls whose base moved; then run them."""
        moved = [item for item in items if not item.answered and item.moved is not None]
        if not moved or self.stop.pressed:
            return
        moved[0].context.files.replan()
        asked: list[RoundCall] = []
        for item in moved:
            in_part = item.context.files.accepted_hunks(item.call.call_id) is not None
            item.second_review, item.approved, item.preview, item.bases = True, (), None, {}
            item.notes = answers.without_hunks(item.notes)
            item.context.files.expect(item.call.call_id, {})
            refusal = await self.preparer.check(item, hooks=False)
            if in_part and not item.asking:
                # A lasting answer given meanwhile covers the call, but not what the person left out.
                item.hook_asks = _IN_PART
            if refusal is None and item.asking:
                refusal = await self.previewer.show_one(item)
                asked.append(item)
            if refusal is not None:
                await self.recorder.refuse(item, refusal)
        asked = [item for item in asked if not item.answered]
        if asked and not self.stop.pressed:
            await self.asking.ask(asked)
        for item in moved:
            item.moved = None
        await self._execute(moved)
        for item in moved:
            if item.moved is not None:
                await self.recorder.refuse(item, Refusal(answers.changed(str(item.moved)), "denied"))

    async def _fill(self, items: Sequence[RoundCall]) -> None:
        """Answer what nobody answered: a call that began may have done its work."""
        stopped = self.stop.pressed
        rest = Refusal(answers.CANCELLED, "cancelled") if stopped else Refusal(answers.NOT_RUN, "not_run")
        for item in items:
            await self.recorder.refuse(item, Refusal(answers.LOST, "cancelled") if item.began else rest)

"""Runs the tool calls of one model reply: prepare, collect, ask once, run, one answer per call."""

import logging
from collections.abc import Mapping, Sequence

from agent_tui.executor import answers
from agent_tui.executor.ask import Asking, DeniedCalls
from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.context import ToolRoundCtx
from agent_tui.executor.gate import PolicyLike
from agent_tui.executor.hooks import ToolHooks
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.prepare import MakeContext, Preparer, unique_ids
from agent_tui.executor.preview import PREVIEW_LIMIT_S, Previewer
from agent_tui.executor.record import Recorder
from agent_tui.executor.state import Refusal, RoundCall
from agent_tui.executor.strategy import ParallelToolRoundExecutor, ToolRoundExecutor
from agent_tui.protocol.events import EventSink, RoundStarted
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome
from agent_tui.toolkit.source import ToolSource

_LOG = logging.getLogger(__name__)


class Rounds:
    """The rounds of one agent, one at a time. `tools`, `policy`, `approver` and `journal` may be replaced between them.

    `origin` is "" for the main agent, else the call id of its `task`; `agent_name` is what the approval screen shows
    as the origin of a request. Sub-agents share `locks` with it, so that no two writers of one file overlap.
    """

    def __init__(
        self,
        *,
        tools: ToolSource,
        policy: PolicyLike,
        approver: Approver,
        journal: Journal,
        sink: EventSink,
        make_context: MakeContext,
        executor: ToolRoundExecutor | None = None,
        hooks: ToolHooks | None = None,
        origin: str = "",
        agent_name: str = "",
        locks: PathLocks | None = None,
        preview_limit_s: float = PREVIEW_LIMIT_S,
        workers: Workers | None = None,
    ) -> None:
        self.tools = tools
        self.policy = policy
        self.approver = approver
        self.journal = journal
        self.sink = sink
        self.executor = executor or ParallelToolRoundExecutor()
        self.hooks = hooks
        self._make_context = make_context
        self._origin = origin
        self._agent_name = agent_name or origin
        self._locks = locks or PathLocks()
        self._preview_limit_s = preview_limit_s
        self._workers = workers or Workers()
        self._denied = DeniedCalls()
        self._stop: StopSignal | None = None

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        turn_id: str,
        round_index: int,
        resumed: Mapping[str, ToolCallOutcome] | None = None,
    ) -> BatchResult:
        """Give one outcome per call, in request order, whatever happens.

        With a deferring approver `pending` holds the requests and nothing ran. A round that goes on after such a
        pause passes as `resumed` the outcomes it has already: those calls are not run again, and what is still
        deferred holds back nothing else.
        """
        if not calls:
            return BatchResult(outcomes=())
        self._denied.start(turn_id)
        self._stop = StopSignal()
        try:
            one = _Round(self, self._stop, turn_id=turn_id, known=resumed)
            return await one.run(unique_ids(calls), round_index)
        finally:
            self._stop = None

    def cancel(self) -> None:
        """Stop the running round: `run` then returns with every call answered. Without a round it does nothing."""
        if self._stop is not None:
            self._stop.press()

    def asking(self, recorder: Recorder, stop: StopSignal, *, partial: bool) -> Asking:
        """Build what asks in one round."""
        return Asking(
            preparer=Preparer(
                tools=self.tools,
                policy=self.policy,
                hooks=self.hooks,
                make_context=self._make_context,
                workers=self._workers,
                stop=stop,
                turn_id=recorder.turn_id,
            ),
            previewer=Previewer(self.tools, self._workers, stop, self._preview_limit_s),
            recorder=recorder,
            policy=self.policy,
            approver=self.approver,
            workers=self._workers,
            stop=stop,
            denied=self._denied,
            partial=partial,
        )

    def recorder(self, turn_id: str) -> Recorder:
        """Build what answers the calls of one round."""
        return Recorder(self.tools, self.journal, self.sink, turn_id, self._origin, self._agent_name)

    def context(self, items: Sequence[RoundCall], recorder: Recorder, stop: StopSignal) -> ToolRoundCtx:
        """Build what the executor gets."""
        return ToolRoundCtx(
            items,
            tools=self.tools,
            policy=self.policy,
            recorder=recorder,
            workers=self._workers,
            stop=stop,
            locks=self._locks,
            hooks=self.hooks,
        )


class _Round:
    """One round from its calls to its outcomes."""

    def __init__(
        self,
        rounds: Rounds,
        stop: StopSignal,
        *,
        turn_id: str,
        known: Mapping[str, ToolCallOutcome] | None,
    ) -> None:
        self._rounds = rounds
        self._stop = stop
        self._turn_id = turn_id
        self._known = known or {}
        self._recorder = rounds.recorder(turn_id)
        self._asking = rounds.asking(self._recorder, stop, partial=known is not None)

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> BatchResult:
        """Go through the phases."""
        items = [self._asking.preparer.named(call) for call in calls]
        if items:
            items[0].context.files.start_round()
        for item in items:
            item.outcome = self._known.get(item.call.call_id)
        if await self._begun(items, round_index):
            await self._collect(items)
            await self._ask(items)
            await self._execute(items)
            await self._review_again(items)
            await self._fill(items)
        return BatchResult(
            outcomes=tuple(item.outcome for item in items if item.outcome is not None),
            pending=tuple(self._asking.deferred),
            cancelled=self._stop.pressed,
        )

    async def _begun(self, items: Sequence[RoundCall], round_index: int) -> bool:
        """Write down and tell that the round begins; without a record nothing of it runs."""
        calls = tuple(item.call for item in items)
        try:
            await self._rounds.journal.round_started(calls, turn_id=self._turn_id)
        except Exception as error:  # whatever a journal raises
            text = f"{answers.NOT_RUN}: the round could not be recorded: {error}"
            await self._refuse_rest(items, Refusal(text, "not_run"))
            return False
        await self._rounds.sink(
            RoundStarted(
                turn_id=self._turn_id, origin=self._recorder.origin, round_index=round_index, calls=calls
            )
        )
        return True

    async def _collect(self, items: Sequence[RoundCall]) -> None:
        """Check every call and answer at once what cannot or may not run."""
        for item in items:
            if item.answered or self._stop.pressed:
                continue
            refusal = await self._asking.preparer.check(item)
            before = self._asking.denied.text(item.call) if refusal is None and item.asking else ""
            if before:
                refusal = Refusal(answers.denied_before(before), "denied")
            if refusal is not None:
                await self._recorder.refuse(item, refusal)

    async def _ask(self, items: Sequence[RoundCall]) -> None:
        """Show what the calls would do and ask once for all that remains."""
        open_items = [item for item in items if not item.answered]
        for item, refusal in await self._asking.previewer.show(open_items):
            await self._recorder.refuse(item, refusal)
        foreign_before = False
        for item in open_items:
            item.may_change = foreign_before
            foreign_before = foreign_before or (not item.answered and item.may_change_files)
        asked = [item for item in open_items if not item.answered and item.asking]
        if asked and not self._stop.pressed:
            await self._asking.ask(asked)
        if self._asking.deferred and not self._asking.partial:
            for item in open_items:
                if not item.answered:
                    self._recorder.pend(item, answers.PENDING)

    async def _execute(self, items: Sequence[RoundCall]) -> None:
        """Hand the calls that may run to the executor."""
        ready = [item for item in items if not item.answered]
        if not ready or self._stop.pressed:
            return
        ctx = self._rounds.context(ready, self._recorder, self._stop)
        try:
            await self._rounds.executor.execute_round(ctx, [item.call for item in ready])
        except Exception as error:  # foreign code: an injected executor must not cost the round its answers
            _LOG.warning("the round executor failed", exc_info=True)
            await self._recorder.notice(f"The round executor failed: {error}")

    async def _review_again(self, items: Sequence[RoundCall]) -> None:
        """Ask a second time, in one review, for approved calls whose base moved; then run them."""
        moved = [item for item in items if not item.answered and item.moved is not None]
        if not moved or self._stop.pressed:
            return
        moved[0].context.files.replan()
        asked: list[RoundCall] = []
        for item in moved:
            item.second_review, item.approved, item.preview, item.bases = True, (), None, {}
            item.context.files.expect(item.call.call_id, {})
            refusal = await self._asking.preparer.check(item, hooks=False)
            if refusal is None and item.asking:
                refusal = await self._asking.previewer.show_one(item)
                asked.append(item)
            if refusal is not None:
                await self._recorder.refuse(item, refusal)
        asked = [item for item in asked if not item.answered]
        if asked and not self._stop.pressed:
            await self._asking.ask(asked)
        for item in moved:
            item.moved = None
        await self._execute(moved)
        for item in moved:
            if item.moved is not None:
                await self._recorder.refuse(item, Refusal(answers.changed(str(item.moved)), "denied"))

    async def _fill(self, items: Sequence[RoundCall]) -> None:
        """Answer what nobody answered."""
        if self._stop.pressed:
            await self._refuse_rest(items, Refusal(answers.CANCELLED, "cancelled"))
        else:
            await self._refuse_rest(items, Refusal(answers.NOT_RUN, "not_run"))

    async def _refuse_rest(self, items: Sequence[RoundCall], refusal: Refusal) -> None:
        """Answer every open call alike."""
        for item in items:
            await self._recorder.refuse(item, refusal)

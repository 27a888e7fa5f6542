"""The rounds of one agent: puts each together from its parts, runs it, stops it."""

from collections.abc import Mapping, Sequence

from agent_tui.executor.ask import Asking
from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.context import ToolRoundCtx
from agent_tui.executor.gate import PolicyLike
from agent_tui.executor.hooks import QuestionHooks, ToolHooks
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.prepare import MakeContext, Preparer, unique_ids
from agent_tui.executor.preview import PREVIEW_LIMIT_S, Previewer
from agent_tui.executor.record import Recorder
from agent_tui.executor.round import Round
from agent_tui.executor.state import RoundCall
from agent_tui.executor.strategy import ParallelToolRoundExecutor, ToolRoundExecutor
from agent_tui.executor.verdicts import DeniedCalls, Verdicts
from agent_tui.protocol.events import EventSink
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome
from agent_tui.toolkit.source import ToolSource


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
        questions: QuestionHooks | None = None,
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
        self.questions = questions
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
        stopped: bool = False,
    ) -> BatchResult:
        """Give one outcome per call, in request order, whatever happens.

        With a deferring approver `pending` holds the requests and nothing ran. A round that goes on after such a
        pause passes as `resumed` the outcomes it has already: those calls are not run again, and what is still
        deferred holds back nothing else. A round that was `stopped` before it began runs nothing.
        """
        if not calls:
            return BatchResult(outcomes=())
        self._denied.start(turn_id)
        self._stop = StopSignal()
        if stopped:
            self._stop.press()
        try:
            return await self._round(self._stop, turn_id, resumed).run(unique_ids(calls), round_index)
        finally:
            self._stop = None

    def cancel(self) -> None:
        """Stop the running round: `run` then returns with every call answered. Without a round it does nothing."""
        if self._stop is not None:
            self._stop.press()

    def _round(self, stop: StopSignal, turn_id: str, resumed: Mapping[str, ToolCallOutcome] | None) -> Round:
        """Put the parts of one round together."""
        recorder = Recorder(self.tools, self.journal, self.sink, turn_id, self._origin, self._agent_name)
        previewer = Previewer(self.tools, self._workers, stop, self._preview_limit_s)
        preparer = Preparer(
            tools=self.tools,
            policy=self.policy,
            hooks=self.hooks,
            questions=self.questions,
            make_context=self._make_context,
            workers=self._workers,
            stop=stop,
            turn_id=turn_id,
        )
        return Round(
            preparer=preparer,
            previewer=previewer,
            denied=self._denied,
            recorder=recorder,
            asking=Asking(
                verdicts=Verdicts(preparer, previewer, recorder, self.policy, self._denied),
                recorder=recorder,
                policy=self.policy,
                approver=self.approver,
                workers=self._workers,
                stop=stop,
                partial=resumed is not None,
            ),
            executor=self.executor,
            contexts=lambda items: self._context(items, recorder, stop),
            stop=stop,
            known=resumed or {},
        )

    def _context(self, items: Sequence[RoundCall], recorder: Recorder, stop: StopSignal) -> ToolRoundCtx:
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

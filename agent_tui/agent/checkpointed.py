"""Rounds with a checkpoint of the files before and after each that may change something."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from agent_tui.agent.checkpoints import Checkpoint, CheckpointError, Checkpoints
from agent_tui.agent.steps import RoundRunner
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome
from agent_tui.toolkit.source import ToolSource

Keep = Callable[[JsonObject], Awaitable[object]]
"""Writes a checkpoint down: the fields of a checkpoint record."""

Say = Callable[[str], Awaitable[None]]


class CheckpointedRounds:
    """Runs rounds as `inner` does. A checkpoint that fails is said once and stops nothing.

    `keep` records a checkpoint, `say` tells the person, `busy` says whether a background job runs: what changes then may
    be the job's or the person's, and is marked as doubtful. `last` is the newest checkpoint's tree.
    """

    def __init__(
        self,
        inner: RoundRunner,
        *,
        checkpoints: Checkpoints,
        tools: ToolSource,
        keep: Keep,
        say: Say,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._inner = inner
        self._checkpoints = checkpoints
        self._tools = tools
        self._keep = keep
        self._say = say
        self._busy = busy
        self._failed = False
        self._known_uncovered: frozenset[str] = frozenset()
        self.last = ""

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        turn_id: str,
        round_index: int,
        resumed: Mapping[str, ToolCallOutcome] | None = None,
    ) -> BatchResult:
        """Run a round, with checkpoints around it unless all its calls only read."""
        changes = any(not self._tools.owns(c.name) or not self._tools.readable(c.name) for c in calls)
        if changes:
            await self._take("before")
        batch = await self._inner.run(calls, turn_id=turn_id, round_index=round_index, resumed=resumed)
        if changes and any(
            outcome.effect in ("ran", "failed", "timeout", "cancelled") for outcome in batch.outcomes
        ):
            await self._take("after")
        return batch

    def cancel(self) -> None:
        """Stop the running round."""
        self._inner.cancel()

    async def _take(self, label: str) -> None:
        try:
            taken = await self._checkpoints.take()
        except CheckpointError as error:
            if not self._failed:
                await self._say(f"{error} Changes of this session cannot be undone for now.")
            self._failed = True
            return
        self._failed = False
        if taken.tree != self.last or label == "before":
            await self._keep(self._facts(taken, label))
        self.last = taken.tree

    def _facts(self, taken: Checkpoint, label: str) -> JsonObject:
        new = [path for path in taken.uncovered if path not in self._known_uncovered]
        self._known_uncovered = frozenset(taken.uncovered)
        return {
            "tree": taken.tree,
            "label": label,
            "changed": list(taken.changed[:1000]),
            "uncovered": list(new[:1000]),
            "doubtful": self._busy(),
        }

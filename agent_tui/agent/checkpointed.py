"""Rounds with a checkpoint of the files before and after each that may change something."""

import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from agent_tui.agent.checkpoints import Checkpoint, CheckpointError, Checkpoints
from agent_tui.agent.steps import RoundRunner
from agent_tui.executor.bounded import StopSignal
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome
from agent_tui.sessions.tree import AFTER, BEFORE
from agent_tui.toolkit.source import ToolSource

Keep = Callable[[JsonObject], Awaitable[object]]
"""Writes a checkpoint down: the fields of a checkpoint record."""

Say = Callable[[str], Awaitable[None]]

_PATCH_HEAD = re.compile(
    r"^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |(?:---|\+\+\+) (?:[ab]/)?)(.+?)\s*$", re.M
)
PATIENCE_S = 20.0
"""How long a round waits for the first look at the files; later ones take a moment."""


class CheckpointedRounds:
    """Runs rounds as `inner` does. A checkpoint that fails is said once and stops nothing.

    `keep` records a checkpoint, `say` tells the person, `busy` says whether a background job runs: what changes then may
    be the job's or the person's, and is marked as doubtful. `last` is the newest checkpoint's tree. Paths outside
    `workspace`, or ignored in it, that a call names are covered from then on.
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
        last: str = "",
        workspace: Path | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._inner = inner
        self._checkpoints = checkpoints
        self._tools = tools
        self._keep = keep
        self._say = say
        self._busy = busy
        self._workspace = workspace
        self._patience_s = patience_s
        self._failed = False
        self._known_uncovered: frozenset[str] = frozenset()
        self._stop = StopSignal()
        self.last = last

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        turn_id: str,
        round_index: int,
        resumed: Mapping[str, ToolCallOutcome] | None = None,
        stopped: bool = False,
    ) -> BatchResult:
        """Run a round, with checkpoints around it unless all its calls only read."""
        self._stop = StopSignal()
        changes = any(not self._tools.owns(c.name) or not self._tools.readable(c.name) for c in calls)
        if changes and not stopped:
            await self._take(BEFORE, list(self._named(calls)))
        batch = await self._inner.run(
            calls,
            turn_id=turn_id,
            round_index=round_index,
            resumed=resumed,
            stopped=stopped or self._stop.pressed,
        )
        if changes and any(
            outcome.effect in ("ran", "failed", "timeout", "cancelled") for outcome in batch.outcomes
        ):
            await self._take(AFTER)
        return batch

    def cancel(self) -> None:
        """Stop the running round, also one that waits for its checkpoint."""
        self._stop.press()
        self._inner.cancel()

    async def _take(self, label: str, extra: Sequence[str] = ()) -> None:
        if not await self._checkpoints.ready(0 if self._failed else self._patience_s, stop=self._stop):
            if not self._stop.pressed:
                await self._fail("The project has so many files that the first look at them is not done yet.")
            return
        try:
            taken = await self._checkpoints.take(extra, since=self.last)
        except CheckpointError as error:
            await self._fail(str(error))
            return
        self._failed = False
        if taken.tree != self.last or label == BEFORE:
            await self._keep(self._facts(taken, label))
        self.last = taken.tree

    async def _fail(self, why: str) -> None:
        if not self._failed:
            await self._say(f"{why} Changes cannot be undone for now.")
        self._failed = True

    def _named(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        """Find the files that the calls name: outside the workspace, and ignored ones in it, no scan finds them."""
        if self._workspace is None:
            return
        for call in calls:
            for path in _named_paths(call):
                with suppress(ValueError):  # what no path can be, a NUL for one: the tool refuses it
                    yield os.path.realpath(self._workspace / os.path.expanduser(path))

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


def _named_paths(call: ToolCall) -> list[str]:
    """Give the paths that a call names in its arguments or in the heads of a patch."""
    try:
        arguments = parse_json(call.arguments_json)
    except ValueError:
        return []
    if not isinstance(arguments, dict):
        return []
    given = cast("dict[str, object]", arguments)
    paths = [value for key in ("file_path", "path") if isinstance(value := given.get(key), str) and value]
    patch = given.get("patch")
    return [*paths, *(_PATCH_HEAD.findall(patch) if isinstance(patch, str) else [])]

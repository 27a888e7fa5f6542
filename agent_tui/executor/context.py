"""What an executor gets: the only ways to run or deny a call, each of which records and tells its outcome."""

import logging
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent_tui.executor import answers
from agent_tui.executor.bases import moved_base
from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.dispatch import Ran, run_tool
from agent_tui.executor.gate import PolicyLike
from agent_tui.executor.hooks import ToolHooks, changed
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.prepare import reviewed
from agent_tui.executor.record import Recorder
from agent_tui.executor.state import TASK_TOOL, Refusal, RoundCall, beyond, digest
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome, ToolResult
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.text import CAPPED_BY_TOOL, cap_output, display_text

_LOG = logging.getLogger(__name__)

WRITER_GRACE_S = 3.0

CallKind = Literal["reader", "task", "writer"]


class ToolRoundCtx:
    """One round as its executor sees it.

    `run` does everything that must happen around a call (start and end are told, time limit, cut, display, record), so no
    executor can skip it. What is run is the call that was approved, whatever arguments the executor hands in.
    """

    def __init__(
        self,
        items: Sequence[RoundCall],
        *,
        tools: ToolSource,
        policy: PolicyLike,
        recorder: Recorder,
        workers: Workers,
        stop: StopSignal,
        locks: PathLocks,
        hooks: ToolHooks | None = None,
    ) -> None:
        self._items = {item.call.call_id: item for item in items}
        self._tools = tools
        self._policy = policy
        self._recorder = recorder
        self._workers = workers
        self._stop = stop
        self._locks = locks
        self._hooks = hooks
        self._atomic = False

    def kind(self, call: ToolCall) -> CallKind:
        """Say how a call may overlap: readers with readers, tasks with tasks, a writer with nothing."""
        if call.name == TASK_TOOL:
            return "task"
        return "reader" if self._tools.readable(call.name) else "writer"

    @property
    def cancelled(self) -> bool:
        """Tell whether the person stopped the round; calls not started are then answered by `run` without running."""
        return self._stop.pressed and not self._atomic

    @contextmanager
    def uninterrupted(self) -> Generator[None]:
        """Run the calls inside to their end even when the person stops the round."""
        self._atomic = True
        try:
            yield
        finally:
            self._atomic = False

    async def run(self, call: ToolCall) -> ToolCallOutcome | None:
        """Run an approved call and give its outcome; None when its base moved, so that it is reviewed again later.

        A call that is answered already is not run again. Raises ValueError for a call that is not of this round
        or is running.
        """
        item = self._item(call)
        if item.answered or item.moved is not None:
            return item.outcome
        if item.claimed:
            raise ValueError(f"the call {call.call_id!r} is already running")
        item.claimed = True
        try:
            if self.cancelled:
                await self._recorder.refuse(item, Refusal(answers.CANCELLED, "cancelled"))
            else:
                async with self._locks.hold(item.write_targets()):
                    await self._run(item)
        finally:
            item.claimed = False
        return item.outcome

    async def deny(self, call: ToolCall, text: str) -> ToolCallOutcome | None:
        """Answer a call without running it."""
        item = self._item(call)
        if item.claimed:
            raise ValueError(f"the call {call.call_id!r} is already running")
        await self._recorder.refuse(item, Refusal(text, "denied"))
        return item.outcome

    def _item(self, call: ToolCall) -> RoundCall:
        """Find a call by its id."""
        item = self._items.get(call.call_id)
        if item is None:
            raise ValueError(f"the call {call.call_id!r} is not of this round")
        return item

    async def _run(self, item: RoundCall) -> None:
        """Check what the approval was bound to, then run."""
        request = item.request
        if request is not None and request.args_sha256 != digest(item.call.arguments_json):
            await self._recorder.refuse(item, Refusal("Denied: not the arguments that were shown.", "denied"))
            return
        moved = await moved_base(item.bases) or await self._moved_shell(item)
        if moved is not None:
            item.moved = moved
            return
        await self._recorder.started(item)
        item.began = True
        started = time.monotonic()
        ran = await self._dispatch(item)
        if ran.moved is not None:
            item.moved, item.began = ran.moved.path, False
            return
        await self._finish(item, ran, elapsed_s=time.monotonic() - started)

    async def _moved_shell(self, item: RoundCall) -> Path | None:
        """Give the shell's directory if an earlier call of the round moved it and the command now needs more."""
        cwd = item.context.cwd
        if not item.executes or cwd == item.cwd or item.review is None:
            return None
        try:
            needs = self._tools.permissions(item.call.name, item.call.arguments_json, item.context)
            now = await reviewed(self._policy, item, needs)
        except Exception:  # foreign code: what cannot be decided here is decided in the second review
            return cwd
        return cwd if now.denial or beyond(now.asking, item.approved) else None

    async def _dispatch(self, item: RoundCall) -> Ran:
        """Run the tool within its time limit; a stop ends it if it may be stopped."""
        name = item.call.name
        limit_s = self._tools.timeout_s(name)
        stoppable = self._tools.interruptible(name) or self._tools.readable(name)

        async def report(text: str) -> None:
            await self._recorder.output(item, text)

        ctx = replace(item.context, report=report, confinement=item.confinement)
        return await run_tool(
            self._workers,
            name,
            self._tools.execute(name, item.call.arguments_json, ctx),
            limit_s=limit_s,
            stop=self._stop if stoppable and not self._atomic else None,
            finish_s=0.0 if stoppable else WRITER_GRACE_S,
        )

    async def _finish(self, item: RoundCall, ran: Ran, *, elapsed_s: float) -> None:
        """Show the whole result, cut the model's copy, let hooks see it, and answer the call."""
        display = self._show(item, ran)
        summary = self._summary(item, ran)
        result, effect = ran.result, ran.effect
        if result.data.get(CAPPED_BY_TOOL) is not True:
            result = result.model_copy(update={"output": cap_output(result.output)})
        notes = list(item.notes)
        if self._hooks is not None:
            result, context = await self._after(self._hooks, item, result)
            notes += [context] if context else []
        if notes:
            result = result.model_copy(update={"output": "\n\n".join([result.output, *notes])})
        await self._recorder.finish(
            item, result, display=display, summary=summary, effect=effect, elapsed_s=elapsed_s
        )

    def _show(self, item: RoundCall, ran: Ran) -> DisplayResult:
        """Give the panel's body, and a line for each image."""
        try:
            display = self._tools.show(item.call.name, item.call.arguments_json, ran.result)
        except Exception:  # foreign code: a result is never lost for its looks
            _LOG.debug("show of %s failed", item.call.name, exc_info=True)
            display = display_text(ran.result.output)
        images = tuple(image.shown for image in ran.result.images)
        return display.model_copy(update={"images": images}) if images else display

    def _summary(self, item: RoundCall, ran: Ran) -> str:
        """Give the line for compaction; a call that did not end by itself has a fixed one."""
        if ran.effect not in ("ran", "failed"):
            return f"[{item.call.name}: {ran.effect}]"
        try:
            return self._tools.summarize(item.call.name, item.call.arguments_json, ran.result)
        except Exception:  # foreign code: a summary is never worth losing a result for
            _LOG.debug("summarize of %s failed", item.call.name, exc_info=True)
            return f"[{item.call.name}: {'error' if ran.result.is_error else 'completed'}]"

    async def _after(self, hooks: ToolHooks, item: RoundCall, result: ToolResult) -> tuple[ToolResult, str]:
        """Let the hooks change the result; give it with what they add. A hook that fails withholds the result."""
        try:
            settled = await self._workers.run(
                hooks.after(item.call, result, replace(item.context, confinement=item.confinement)),
                stop=None if self._atomic else self._stop,
            )
        except (
            Exception
        ) as error:  # foreign code: a hook may be there to hide something, so its failure hides all
            return ToolResult.error(f"The call ran, but a hook failed on its result: {error}"), ""
        if settled.value is None:
            return ToolResult.error(
                "The call ran, but the round was stopped before a hook saw its result."
            ), ""
        return changed(result, settled.value), answers.hook_note(settled.value.context)

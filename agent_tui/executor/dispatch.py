"""Runs one tool to some end: its result, its error, the time limit, a stop."""

import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass

from agent_tui.executor import answers
from agent_tui.executor.bounded import Settled, StopSignal, Workers, contained, flattened
from agent_tui.protocol.errors import BaseChanged, ToolError
from agent_tui.protocol.tools import Effect, ToolResult
from agent_tui.toolkit.text import ENDED_AFTER

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ran:
    """What a tool came to: its result and whether it failed, or the file that was not what was approved."""

    result: ToolResult
    effect: Effect
    moved: BaseChanged | None = None


async def run_tool(
    workers: Workers,
    name: str,
    work: Coroutine[object, object, ToolResult],
    *,
    limit_s: int,
    stop: StopSignal | None,
    finish_s: float,
) -> Ran:
    """Run `work` for at most `limit_s` seconds (0: it limits itself) and until `stop`. Raises only CancelledError."""
    began = time.monotonic()
    settled = await workers.run(_judged(work, name), limit_s=limit_s or None, stop=stop, finish_s=finish_s)
    return _interpreted(settled, limit_s, time.monotonic() - began)


async def _judged(work: Coroutine[object, object, ToolResult], name: str) -> Ran:
    """Turn what a tool raises into its result."""
    try:
        result = await contained(work)
    except ToolError as error:
        return Ran(ToolResult.error(str(error)), "failed")
    except BaseChanged as error:
        return Ran(ToolResult.error(str(error)), "failed", moved=error)
    except (
        Exception
    ) as error:  # foreign code: a tool may raise anything, also a group of its own tasks' errors
        for leaf in flattened(error):
            if isinstance(leaf, BaseChanged):
                return Ran(ToolResult.error(str(leaf)), "failed", moved=leaf)
        leaves = flattened(error)
        if all(isinstance(leaf, ToolError) for leaf in leaves):
            return Ran(ToolResult.error("\n".join(map(str, leaves))), "failed")
        _LOG.warning("the tool %s failed", name, exc_info=True)
        return Ran(ToolResult.error(answers.fault(name, leaves[0])), "failed")
    return Ran(result, "failed" if result.is_error else "ran")


def _interpreted(settled: Settled[Ran], limit_s: int, elapsed_s: float) -> Ran:
    """Say how a call ended that was ended from outside; what it still gave stands before the reason."""
    if settled.how == "done" and settled.value is not None:
        return settled.value
    given = settled.value.result if settled.value is not None else None
    reason = answers.timed_out(limit_s) if settled.how == "timeout" else answers.STOPPED
    output = f"{given.output}\n{reason}" if given is not None and given.output else reason
    data = {**(given.data if given else {}), ENDED_AFTER: round(elapsed_s, 1)}
    result = ToolResult(output=output, is_error=True, data=data)
    return Ran(result, "timeout" if settled.how == "timeout" else "cancelled")

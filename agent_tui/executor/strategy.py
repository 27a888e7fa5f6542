"""Decides order and overlap of the calls of a round."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, Protocol

from agent_tui.executor.context import ToolRoundCtx
from agent_tui.protocol.tools import ToolCall

RoundOrder = Literal["parallel", "serial", "atomic"]
MAX_READERS = 10
MAX_TASKS = 4


class ToolRoundExecutor(Protocol):
    """Runs the calls of a round in an order of its own.

    It awaits `ctx.run(call)` or `ctx.deny(call, text)` for each. Returning early keeps what is recorded; every call
    left over is answered "not run".
    """

    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        """Run or deny `calls`, which stand in request order and are all approved."""
        ...


class SerialToolRoundExecutor:
    """One call after another, in request order. `atomic` never interrupts a round that began to run."""

    def __init__(self, *, atomic: bool = False) -> None:
        self._atomic = atomic

    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        """Run the calls in order."""
        if not self._atomic:
            await _in_order(ctx, calls)
            return
        with ctx.uninterrupted():
            await _in_order(ctx, calls)


class ParallelToolRoundExecutor:
    """Lets neighbours overlap that cannot disturb each other: readers up to 10, sub-agents up to 4.

    Everything else is a barrier: it waits for what stands before it, and what stands behind waits for it.
    """

    def __init__(self, *, max_readers: int = MAX_READERS, max_tasks: int = MAX_TASKS) -> None:
        self._limits = {"reader": max_readers, "task": max_tasks, "writer": 1}

    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        """Run group after group."""
        for kind, group in _neighbours(ctx, calls):
            await self._together(ctx, group, limit=self._limits[kind])

    async def _together(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall], *, limit: int) -> None:
        """Run calls at the same time, at most `limit`, begun in order."""
        room = asyncio.Semaphore(limit)

        async def one(call: ToolCall) -> None:
            async with room:
                await ctx.run(call)

        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(one(call))


def executor_named(order: RoundOrder) -> ToolRoundExecutor:
    """Give the executor that the setting `tools.rounds` names."""
    if order == "parallel":
        return ParallelToolRoundExecutor()
    return SerialToolRoundExecutor(atomic=order == "atomic")


def _neighbours(ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> Iterator[tuple[str, list[ToolCall]]]:
    """Give runs of neighbouring calls of one kind."""
    for kind, group in groupby(calls, key=ctx.kind):
        yield kind, list(group)


async def _in_order(ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
    """Run the calls one by one."""
    for call in calls:
        await ctx.run(call)

"""Waits for the next deltas with a limit, and gives those that are there already together."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import suppress
from typing import Generic, TypeVar

Item = TypeVar("Item")

GATHER_S = 0.002
"""How long items that come all at once are gathered: as long as the screen lets its loop wait for a key."""


async def watched(
    items: AsyncIterator[Item],
    limit_s: float,
    *,
    gather_s: float = GATHER_S,
    clock: Callable[[], float] = time.perf_counter,
) -> AsyncGenerator[list[Item]]:
    """Give the items, those together that are there within `gather_s` without a wait; raises TimeoutError when one is
    not there within `limit_s`.

    A limit of its own for each of 20,000 items that came in one read is 0.2 s of CPU, and so is each one's way to
    the screen. So the next item is asked for first, and a limit is set only if it has to be waited for.
    """
    ready: list[Item] = []
    while True:
        until = clock() + gather_s
        begun: _Begun[Item] | None = None
        ended: Exception | None = None
        while begun is None and ended is None:
            reading = items.__anext__().__await__()
            try:
                begun = _Begun(reading, next(reading))
            except StopIteration as item:
                ready.append(item.value)
                if clock() >= until:
                    break
            except Exception as error:  # the source's own; what came before it is given first
                ended = error
        if ready:
            given, ready = ready, []
            try:
                yield given
            except BaseException:
                if begun is not None:
                    await begun.cancel()
                raise
        try:
            if ended is not None:
                raise ended
            if begun is not None:
                async with asyncio.timeout(limit_s):
                    ready.append(await begun)
        except StopAsyncIteration:
            return


class _Begun(Generic[Item]):
    """The rest of an awaitable that was begun by hand and waits for `waits_for`."""

    def __init__(self, reading: Generator[object, object, Item], waits_for: object) -> None:
        self._reading, self._waits_for = reading, waits_for
        self._is_cancelled = False

    async def cancel(self) -> None:
        """End what was begun as if its task had been cancelled, so that it cleans up."""
        self._is_cancelled = True
        task = asyncio.current_task()
        cancels = task.cancelling() if task is not None else 0
        with suppress(StopAsyncIteration):
            try:
                await self
            except asyncio.CancelledError:
                if task is not None and task.cancelling() > cancels:  # not ours
                    raise

    def __await__(self) -> Generator[object, object, Item]:
        waits_for = self._waits_for
        try:
            if self._is_cancelled:
                waits_for = self._reading.throw(asyncio.CancelledError())
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:  # a cancelled task's, which is for who waits inside
                    waits_for = self._reading.throw(error)
                else:
                    waits_for = self._reading.send(sent)
        except StopIteration as done:
            return done.value

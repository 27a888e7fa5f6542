"""Waits for the next delta with a limit, and costs nothing when it is there already."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import Generic, TypeVar

Item = TypeVar("Item")


async def watched(items: AsyncIterator[Item], limit_s: float) -> AsyncGenerator[Item]:
    """Give the items; raises TimeoutError when one is not there within `limit_s`.

    A limit of its own for each of 20,000 items that came in one read is 0.2 s of CPU, so the next item is asked
    for first, and a limit is set only if it has to be waited for.
    """
    while True:
        reading = items.__anext__().__await__()
        try:
            waits_for = next(reading)
        except StopIteration as ready:
            yield ready.value
            continue
        except StopAsyncIteration:
            return
        try:
            async with asyncio.timeout(limit_s):
                item = await _Begun(reading, waits_for)
        except StopAsyncIteration:
            return
        yield item


class _Begun(Generic[Item]):
    """The rest of an awaitable that was begun by hand and waits for `waits_for`."""

    def __init__(self, reading: Generator[object, object, Item], waits_for: object) -> None:
        self._reading, self._waits_for = reading, waits_for

    def __await__(self) -> Generator[object, object, Item]:
        waits_for = self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:  # a cancelled task's, which is for who waits inside
                    waits_for = self._reading.throw(error)
                else:
                    waits_for = self._reading.send(sent)
        except StopIteration as done:
            return done.value

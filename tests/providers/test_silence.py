import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import count

import pytest

from agent_tui.providers._silence import watched


async def numbers(
    count: int, *, wait_before: int = -1, gate: asyncio.Event | None = None
) -> AsyncGenerator[int]:
    for number in range(count):
        if number == wait_before and gate is not None:
            await gate.wait()
        yield number


async def test_items_that_are_there_come_together_and_those_that_are_waited_for_after_them() -> None:
    gate = asyncio.Event()
    got: list[list[int]] = []

    async for together in watched(numbers(5, wait_before=2, gate=gate), 20.0, gather_s=20.0):
        got.append(together)
        gate.set()  # nothing that is there is kept back until the next one comes

    assert got == [[0, 1], [2, 3, 4]]


async def test_items_that_never_end_are_given_after_a_while() -> None:
    ticks = count()

    async with aclosing(watched(numbers(10), 20.0, gather_s=2.0, clock=lambda: float(next(ticks)))) as found:
        assert [together async for together in found] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


async def test_items_without_time_to_gather_come_one_by_one() -> None:
    assert [n async for n in watched(numbers(3), 20.0, gather_s=0.0)] == [[0], [1], [2]]


async def test_silence_ends_with_a_timeout_after_what_came() -> None:
    got: list[int] = []

    async def read() -> None:
        async for together in watched(numbers(5, wait_before=2, gate=asyncio.Event()), 0.02):
            got.extend(together)

    with pytest.raises(TimeoutError):
        await read()
    assert got == [0, 1]


async def test_an_error_of_the_source_comes_after_what_it_gave_whether_it_waited_or_not() -> None:
    async def broken(waits: bool) -> AsyncGenerator[int]:
        yield 1
        if waits:
            await asyncio.sleep(0)
        raise ValueError("broken")

    async def read(waits: bool, got: list[int]) -> None:
        async for together in watched(broken(waits), 20.0):
            got.extend(together)

    for waits in (False, True):
        got: list[int] = []
        with pytest.raises(ValueError, match="broken"):
            await read(waits, got)
        assert got == [1]


async def test_a_cancelled_reader_cancels_the_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def read() -> None:
        async with aclosing(source()) as items, aclosing(watched(items, 20.0)) as found:
            async for _ in found:
                began.set()

    began = asyncio.Event()
    task = asyncio.create_task(read())
    await began.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert closed.is_set()


async def slow_to_end(ended: list[str]) -> AsyncGenerator[int]:
    """Gives one item, then waits for ever; its end takes a while, as that of a connection does."""
    try:
        yield 1
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        ended.append("ended")


async def test_a_reader_that_goes_away_with_an_item_ends_the_wait_for_the_next() -> None:
    ended: list[str] = []

    async with aclosing(slow_to_end(ended)) as items, aclosing(watched(items, 20.0)) as found:
        async for together in found:
            assert together == [1]
            break

    assert ended == ["ended"]


async def test_a_reader_cancelled_over_an_item_stays_cancelled() -> None:
    ended: list[str] = []
    has_item = asyncio.Event()

    async def read() -> None:
        async with aclosing(slow_to_end(ended)) as items, aclosing(watched(items, 20.0)) as found:
            async for _ in found:
                has_item.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await has_item.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended == ["ended"]


async def test_a_cancel_while_the_source_ends_is_not_lost() -> None:
    ending = asyncio.Event()

    async def hangs_at_its_end() -> AsyncGenerator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            ending.set()
            await asyncio.Event().wait()

    async def read() -> None:
        async with aclosing(hangs_at_its_end()) as items, aclosing(watched(items, 20.0)) as found:
            async for _ in found:
                break

    task = asyncio.create_task(read())
    await ending.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

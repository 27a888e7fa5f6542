import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from agent_tui.providers._silence import watched


async def numbers(
    count: int, *, wait_before: int = -1, gate: asyncio.Event | None = None
) -> AsyncGenerator[int]:
    for number in range(count):
        if number == wait_before and gate is not None:
            await gate.wait()
        yield number


async def test_items_that_are_there_and_items_that_are_waited_for_come_in_order() -> None:
    gate = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, gate.set)

    assert [n async for n in watched(numbers(5, wait_before=2, gate=gate), 20.0)] == [0, 1, 2, 3, 4]


async def test_silence_ends_with_a_timeout_after_what_came() -> None:
    got: list[int] = []

    async def read() -> None:
        async for number in watched(numbers(5, wait_before=2, gate=asyncio.Event()), 0.02):
            got.append(number)

    with pytest.raises(TimeoutError):
        await read()
    assert got == [0, 1]


async def test_an_error_of_the_source_comes_through_whether_it_waited_or_not() -> None:
    async def broken(waits: bool) -> AsyncGenerator[int]:
        yield 1
        if waits:
            await asyncio.sleep(0)
        raise ValueError("broken")

    for waits in (False, True):
        with pytest.raises(ValueError, match="broken"):
            assert [n async for n in watched(broken(waits), 20.0)] == []


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

"""Runs blocking work away from the event loop, in a thread that nothing ever waits for."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def off_loop(work: Callable[[], T], *, drop: Callable[[T], object] | None = None) -> T:
    """Run `work` in a new daemon thread; give what it returns or raise what it raised.

    Cancelling gives the late result to `drop`, which runs on the loop and frees what it holds. Neither the loop's
    pool nor the end of the program waits for the thread: a file system that hangs costs one preview, not the way out.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def succeed(value: T) -> None:
        if not answer.done():
            answer.set_result(value)
        elif drop is not None:
            drop(value)

    def fail(error: Exception) -> None:
        if not answer.done():
            answer.set_exception(error)

    def body() -> None:
        with suppress(RuntimeError):  # the loop is closed: the program has gone on without this result
            try:
                value = work()
            except Exception as error:  # whatever it raises belongs to the caller
                loop.call_soon_threadsafe(fail, error)
            else:
                loop.call_soon_threadsafe(succeed, value)

    threading.Thread(target=body, daemon=True).start()
    try:
        return await answer
    except asyncio.CancelledError:
        if drop is not None and not answer.cancelled() and answer.done() and answer.exception() is None:
            drop(answer.result())  # it came in the same turn of the loop as the cancelling
        raise

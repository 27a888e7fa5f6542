"""Runs foreign synchronous code in a thread of its own that nothing ever waits for."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T], *, name: str) -> T:
    """Run `work` in a new daemon thread and give what it returns or raise what it raised.

    Cancelling drops the late result; the thread itself cannot be stopped, but neither the loop's pool nor
    the end of the program waits for it. An attempt to exit the program becomes a RuntimeError.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(result: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(result)
        except RuntimeError:  # the loop is closed: the program has gone on without this result
            return

    def body() -> None:
        try:
            value = context.run(work)
        except Exception as error:  # foreign code: whatever it raises belongs to the caller
            failure: Exception = error
            deliver(lambda: _fail(answer, failure))
        except (
            BaseException
        ) as error:  # foreign code may call sys.exit(), which must not end a thread silently
            exit_attempt = RuntimeError(f"tried to end the program ({type(error).__name__})")
            deliver(lambda: _fail(answer, exit_attempt))
        else:
            deliver(lambda: _succeed(answer, value))

    threading.Thread(target=body, name=name, daemon=True).start()
    return await answer


def _succeed(answer: asyncio.Future[T], value: T) -> None:
    """Deliver `value` unless nobody waits any more."""
    if not answer.done():
        answer.set_result(value)


def _fail(answer: asyncio.Future[T], error: Exception) -> None:
    """Deliver `error` unless nobody waits any more."""
    if answer.done():
        return
    if isinstance(error, StopIteration):  # a future refuses it
        error = RuntimeError("raised StopIteration")
    answer.set_exception(error)

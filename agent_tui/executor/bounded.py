"""Runs foreign coroutines so that a time limit or a stop always ends the wait."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, cast

END_GRACE_S = 5.0
_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class StopSignal:
    """Tells what runs in a round that the person wants it to end. Pressed once, it stays pressed."""

    def __init__(self) -> None:
        self.pressed = False
        self._waiting: set[asyncio.Future[None]] = set()

    def press(self) -> None:
        """Wake everything that waits. Cheap to call again."""
        self.pressed = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def watch(self) -> asyncio.Future[None]:
        """Give a future that is done once the signal is pressed; hand it back to `unwatch`."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.pressed:
            waiter.set_result(None)
        self._waiting.add(waiter)
        return waiter

    def unwatch(self, waiter: asyncio.Future[None]) -> None:
        """Forget a future of `watch`."""
        self._waiting.discard(waiter)
        waiter.cancel()


@dataclass(frozen=True)
class Settled(Generic[T]):
    """How a wait ended. `value` is set when done, and when a stopped coroutine still gave something."""

    how: Literal["done", "timeout", "stopped"]
    value: T | None = None


class Workers:
    """Owns the tasks that foreign code runs in. One that ignores its cancellation is kept until it ends by itself."""

    def __init__(self, *, end_grace_s: float = END_GRACE_S) -> None:
        self._end_grace_s = end_grace_s
        self._strays: set[asyncio.Task[object]] = set()

    async def run(
        self,
        work: Coroutine[object, object, T],
        *,
        limit_s: float | None = None,
        stop: StopSignal | None = None,
        finish_s: float = 0.0,
    ) -> Settled[T]:
        """Wait for `work` until `limit_s` passed or `stop` was pressed, then cancel it.

        Raises what `work` raised. When `stop` is pressed or the caller itself is cancelled, `work` gets `finish_s` to
        come to its own end first, which lets a write be whole.
        """
        task = asyncio.create_task(contained(work))  # owned: awaited here, or kept among the strays
        waiter = stop.watch() if stop is not None else None
        waited: set[asyncio.Future[None] | asyncio.Task[T]] = {task} if waiter is None else {task, waiter}
        try:
            await asyncio.wait(waited, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            stopped = waiter is not None and waiter.done()
            if stopped and finish_s and not task.done():
                await asyncio.wait({task}, timeout=finish_s)
            if task.done():
                return Settled("done", task.result())
            return Settled("stopped" if stopped else "timeout", await self._end(task))
        except asyncio.CancelledError:
            if finish_s and not task.done():
                await asyncio.wait({task}, timeout=finish_s)
            await self._end(task)
            raise
        finally:
            if stop is not None and waiter is not None:
                stop.unwatch(waiter)

    async def _end(self, task: asyncio.Task[T]) -> T | None:
        """Cancel `task` and give what it still returned, None when it gave nothing in time."""
        task.cancel()
        await asyncio.wait({task}, timeout=self._end_grace_s)
        if not task.done():
            self._strays.add(task)  # it ignores its cancellation: its late result is dropped
            task.add_done_callback(self._drop)
            return None
        if task.cancelled():
            return None
        if task.exception() is not None:
            _LOG.debug("a stopped call raised", exc_info=task.exception())
            return None
        return task.result()

    def _drop(self, task: asyncio.Task[T]) -> None:
        """Forget a stray that ended; its error was nobody's to read."""
        self._strays.discard(task)
        if not task.cancelled():
            task.exception()


async def contained(work: Coroutine[object, object, T]) -> T:
    """Turn what would end the program or look like our own cancellation into an ordinary error."""
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("was cancelled from inside") from error
    except SystemExit as error:
        raise RuntimeError("tried to end the program (SystemExit)") from error
    except BaseExceptionGroup as group:
        if isinstance(group, Exception):
            raise
        raise RuntimeError(_leaves(group)) from group


def _leaves(group: BaseExceptionGroup[BaseException]) -> str:
    """Name the errors of a group."""
    return "; ".join(f"{type(error).__name__}: {error}" for error in flattened(group))


def flattened(error: BaseException) -> list[BaseException]:
    """Give the errors inside a group, or the error itself."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
    return [leaf for part in inner for leaf in flattened(part)]

"""Stops the part of a turn that may be dropped, from outside its task and without cancelling it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


class TurnStopped(Exception):
    """The person stopped the turn; what was going on was dropped."""


class StopSwitch:
    """Ends a droppable stretch of work at once; what stands outside such a stretch is never interrupted.

    One switch serves one turn: a stop that came too early is remembered, one that comes after the turn has no
    effect on the next.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._scope: asyncio.Timeout | None = None

    def press(self) -> None:
        """Stop now if something droppable runs, else at the next droppable stretch. Cheap to call again."""
        self.pressed = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    def check(self) -> None:
        """Raise TurnStopped if the switch was pressed."""
        if self.pressed:
            raise TurnStopped

    @asynccontextmanager
    async def droppable(self) -> AsyncGenerator[None]:
        """Run a stretch that `press` may drop. Raises TurnStopped when it did."""
        self.check()
        try:
            async with asyncio.timeout(None) as scope:
                self._scope = scope
                yield
        except TimeoutError:
            if self.pressed:
                raise TurnStopped from None
            raise
        finally:
            self._scope = None

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` as one droppable stretch, or not begin it. Raises TurnStopped when it was dropped."""
        results: list[T] = []
        async with self.droppable():
            results.append(await work())
        return results[0]

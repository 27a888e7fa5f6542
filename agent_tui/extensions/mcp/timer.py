"""The time a call has: it stands still while a person is asked and begins anew with each sign of progress."""

import asyncio
from types import TracebackType

MAX_S = 900.0


class CallTimer:
    """An `asyncio.timeout` of `limit_s` seconds; with progress at most 15 minutes in all (or `limit_s`, if longer)."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timeout = asyncio.timeout(limit_s)
        self._end = 0.0
        self._held = 0

    async def __aenter__(self) -> "CallTimer":
        self._end = asyncio.get_running_loop().time() + max(MAX_S, self._limit_s)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._timeout.__aexit__(kind, error, trace)

    def extend(self) -> None:
        """Begin the time anew, but not past the end."""
        if not self._held and not self._timeout.expired():
            self._timeout.reschedule(min(asyncio.get_running_loop().time() + self._limit_s, self._end))

    def hold(self, on: bool) -> None:
        """Stop the time while a person is asked; afterwards it begins anew."""
        self._held = (
            self._held + 1 if on else max(0, self._held - 1)
        )  # it may have begun while another waited
        if self._timeout.expired():
            return
        if self._held:
            self._timeout.reschedule(None)
        else:
            self._end = asyncio.get_running_loop().time() + max(MAX_S, self._limit_s)
            self.extend()

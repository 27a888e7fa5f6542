"""Notices programs that were started on an event loop and not ended with it."""

import asyncio
import weakref
from typing import Any

_Started = tuple[asyncio.SubprocessTransport, asyncio.BaseProtocol]


class LeftRunning:
    """Watches from its making on what event loops start."""

    def __init__(self) -> None:
        self._started: list[tuple[weakref.ref[asyncio.SubprocessTransport], tuple[Any, ...]]] = []
        start = asyncio.BaseEventLoop.subprocess_exec

        async def watched(loop: asyncio.BaseEventLoop, *args: Any, **more: Any) -> _Started:
            transport, protocol = await start(loop, *args, **more)
            self._started.append((weakref.ref(transport), args[1:5]))
            return transport, protocol

        asyncio.BaseEventLoop.subprocess_exec = watched

    def check(self) -> None:
        """Look at what was started since the last look. Raises AssertionError when a part of it was not ended."""
        started, self._started = self._started, []
        left = [argv for transport, argv in started if not _ended(transport())]
        assert not left, f"left running: {left}"


def _ended(transport: asyncio.SubprocessTransport | None) -> bool:
    return transport is None or (transport.is_closing() and transport.get_returncode() is not None)

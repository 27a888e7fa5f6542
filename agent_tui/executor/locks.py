"""One lock per real path, shared by all agents, so that two writers of one file never overlap."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class _Held:
    """A lock and how many hold it or wait for it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class PathLocks:
    """Locks by real path. One object serves the main agent and its sub-agents."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    @property
    def held(self) -> frozenset[str]:
        """Give the paths that are held or waited for."""
        return frozenset(self._held)

    @asynccontextmanager
    async def hold(self, paths: Collection[str]) -> AsyncGenerator[None]:
        """Hold all `paths`, taken in one order, so that two callers can never wait for each other."""
        async with AsyncExitStack() as stack:
            for path in sorted(set(paths)):
                await stack.enter_async_context(self._one(path))
            yield

    @asynccontextmanager
    async def _one(self, path: str) -> AsyncGenerator[None]:
        """Hold one path and forget it when nobody needs it any more."""
        held = self._held.setdefault(path, _Held())
        held.users += 1
        try:
            async with held.lock:
                yield
        finally:
            held.users -= 1
            if held.users == 0:
                del self._held[path]

"""Holds on to the content of a project that was trusted, and notices when it is not that content any more."""

import asyncio
from pathlib import Path

from agent_tui.extensions.trust import TrustStore


class TrustHold:
    """What a person trusted in this run: `digest`, "" for nothing.

    What runs later from the project's configuration asks `holds` first: a command of the model, or a checkout, may
    have changed it meanwhile.
    """

    def __init__(self, store: TrustStore, workspace: Path, *, digest: str = "") -> None:
        self._store = store
        self._workspace = workspace
        self._digest = digest

    def take(self, *, trusted: bool) -> None:
        """Hold on to the content as it is now, or let go of it."""
        self._digest = self._store.verdict(self._workspace).digest if trusted else ""

    def holds_now(self) -> bool:
        """Tell whether the content is the one that was trusted. Reads files."""
        return bool(self._digest) and self._store.verdict(self._workspace).digest == self._digest

    async def holds(self) -> bool:
        """Tell the same off the event loop."""
        return await asyncio.to_thread(self.holds_now)

"""Finds a text in the conversation, and goes from one place to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp


class Finder:
    """Searches the transcript and says in the status line where it stands. `perform` does a keymap action."""

    def __init__(self, app: AgentApp, perform: Callable[[str], None]) -> None:
        self._app = app
        self._perform = perform

    async def find(self, text: str) -> None:
        """Find a text and go to the place nearest the end; a search that another one follows does nothing."""
        hits = await self._app.transcript.search(text)
        if hits == 0:
            self._app.status.show_hint(f"{text!r} is not in the conversation")
        elif hits:
            self.step(0)

    def step(self, step: int) -> None:
        """Go to another place where the text was found; without a search begin one."""
        transcript = self._app.transcript
        if not transcript.matches:
            self._perform("search")
            return
        at = transcript.next_match(step)
        following = self._app.keys.hint("global", "next_match")
        ends = self._app.keys.legend(("prompt", "escape", "ends"))
        where = f"{at} of {len(transcript.matches)}"
        self._app.status.show_hint(f"{transcript.needle!r}: {where} · {following} next · {ends}", stays=True)

"""A stored session on the screen while the core that goes on with it still loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.protocol.replay import ReplayBlock

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp


class EarlySession:
    """What was shown before the core was there."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self.blocks: Sequence[ReplayBlock] = ()
        self._is_opening = False

    def opening(self) -> None:
        """Say that a stored session is being opened, until it is there."""
        self._is_opening = True
        self._app.status.show_hint("Opening the session ...", stays=True)

    def show(self, blocks: Sequence[ReplayBlock]) -> None:
        """Show what the session holds."""
        self.blocks = blocks
        if blocks:
            self._app.transcript.load(blocks)

    def ended(self) -> None:
        """Say no longer that something is being opened."""
        if self._is_opening:
            self._app.status.show_hint("")

    def over(self, blocks: Sequence[ReplayBlock]) -> None:
        """Show what the core says there is, unless it stands there already."""
        self.ended()
        if [*self.blocks] != [*blocks] or not blocks:
            self._app.transcript.load(blocks)
        self.blocks = ()

"""The line under the conversation that counts what came below the screen."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap


class Below(Static):
    """Shown while there are new messages out of sight; a click calls `go`, which shows them."""

    def __init__(self, keys: Keymap, go: Callable[[], None]) -> None:
        super().__init__("", id="below", markup=False)
        self._keys, self._go = keys, go

    def on_click(self, event: events.Click) -> None:
        """Go to the new messages."""
        event.stop()
        self._go()

    def say(self, count: int) -> None:
        """Say how many blocks came below what is on screen; 0 hides the line."""
        self.display = count > 0
        noun = "message" if count == 1 else "messages"
        self.update(Content(f"↓ {count} new {noun}, {self._keys.hint('global', 'bottom')} goes there"))

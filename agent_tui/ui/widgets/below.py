"""The line under the conversation that counts what came below the screen."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap


class Below(Static):
    """Shown while there are new messages out of sight."""

    def __init__(self, keys: Keymap) -> None:
        super().__init__("", id="below", markup=False)
        self._keys = keys

    def say(self, count: int) -> None:
        """Say how many blocks came below what is on screen; 0 hides the line."""
        self.display = count > 0
        noun = "message" if count == 1 else "messages"
        self.update(Content(f"↓ {count} new {noun}, {self._keys.hint('global', 'bottom')} goes there"))

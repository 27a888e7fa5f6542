"""The driver of the program that a browser shows: it ends in order when its page is closed."""

from __future__ import annotations

from textual.drivers.web_driver import WebDriver

from agent_tui.ui.terminal_driver import TerminalLost


class BrowserDriver(WebDriver):
    """Textual's driver for pages. A page that is gone is a terminal that is gone: nobody can be asked any more."""

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Leave in order when told to quit."""
        if packet_type == "quit":
            self._app.post_message(TerminalLost())
        else:
            super().on_meta(packet_type, payload)

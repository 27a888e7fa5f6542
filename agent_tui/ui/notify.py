"""Tells a person who looks elsewhere that something waits or is done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_tui.ui.settings import NotifyStyle

if TYPE_CHECKING:
    from textual.app import App

_TITLE = "agent-tui"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f;]")


class Notifier:
    """Writes notifications only while the terminal has no focus; the title says that something waits."""

    def __init__(self, app: App[int], style: NotifyStyle) -> None:
        self._app = app
        self._style = style
        self._titled = False

    def attention(self, text: str) -> None:
        """Something waits for the person."""
        self._title(f"◆ {text}")
        self._notify(text)

    def at_ease(self) -> None:
        """Nothing waits any more."""
        if self._titled:
            self._title("")

    def turn_over(self) -> None:
        """A turn ended."""
        self.at_ease()
        self._notify("The turn is over")

    def _notify(self, text: str) -> None:
        if self._app.app_focus or self._style == "off":
            return
        plain = _CONTROL.sub(" ", text)
        match self._style:
            case "osc777":
                self._write(f"\x1b]777;notify;{_TITLE};{plain}\x1b\\")
            case "bell":
                self._app.bell()
            case _:
                self._write(f"\x1b]9;{_TITLE}: {plain}\x1b\\")

    def _title(self, text: str) -> None:
        if self._style == "off":
            return
        self._titled = bool(text)
        plain = _CONTROL.sub(" ", text)
        self._write(f"\x1b]0;{plain} · {_TITLE}\x1b\\" if plain else f"\x1b]0;{_TITLE}\x1b\\")

    def _write(self, sequence: str) -> None:
        driver = self._app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no public way to write one
        if driver is not None and not self._app.is_headless:
            driver.write(sequence)

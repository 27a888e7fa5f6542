"""Tells a person who looks elsewhere that something waits or is done."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_tui.ui.progress import Progress
from agent_tui.ui.settings import NotifyStyle

_TITLE = "agent-tui"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f;]")


class Notifier:
    """Writes notifications only while the terminal has no focus; the title says that something waits.

    `progress` shows the turn in the terminal's own way.
    """

    def __init__(
        self,
        style: NotifyStyle,
        *,
        send: Callable[[str], None],
        has_focus: Callable[[], bool],
        progress: Progress | None = None,
    ) -> None:
        self._style, self._send, self._has_focus = style, send, has_focus
        self._progress = progress or Progress(is_shown=False, send=send)
        self._titled = self._saved = False

    def turn_began(self) -> None:
        """A turn runs."""
        self._progress.run()

    def attention(self, text: str) -> None:
        """Something waits for the person."""
        self._progress.wait()
        self._title(f"◆ {text}")
        self._notify(text)

    def at_ease(self) -> None:
        """Nothing waits any more."""
        self._progress.go_on()
        if self._titled:
            self._title("")

    def turn_over(self) -> None:
        """A turn ended."""
        self._progress.end()
        self.at_ease()
        self._notify("The turn is over")

    def close(self) -> None:
        """Put the terminal's own title back, and take the progress away."""
        self._progress.end()
        if self._saved:
            self._saved = False
            self._send("\x1b[23;0t")

    def _notify(self, text: str) -> None:
        if self._has_focus() or self._style == "off":
            return
        plain = _CONTROL.sub(" ", text)
        match self._style:
            case "osc777":
                self._send(f"\x1b]777;notify;{_TITLE};{plain}\x1b\\")
            case "bell":
                self._send("\a")
            case _:
                self._send(f"\x1b]9;{_TITLE}: {plain}\x1b\\")

    def _title(self, text: str) -> None:
        if self._style == "off":
            return
        if not self._saved:
            self._saved = True
            self._send("\x1b[22;0t")  # the terminal keeps its title, to be put back at the end
        self._titled = bool(text)
        plain = _CONTROL.sub(" ", text)
        self._send(f"\x1b]0;{plain} · {_TITLE}\x1b\\" if plain else f"\x1b]0;{_TITLE}\x1b\\")

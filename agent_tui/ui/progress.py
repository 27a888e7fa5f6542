"""Shows in the terminal's tab or taskbar that a turn runs (OSC 9;4), where the terminal knows what that means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

_NONE, _RUNNING, _WAITING = "0", "3", "4;100"
_KNOWN_PROGRAMS = frozenset({"ghostty", "WezTerm"})
_VTE_SINCE = 7900


class Progress:
    """Writes only changes of state; nothing when `is_shown` is False."""

    def __init__(self, *, is_shown: bool, send: Callable[[str], None]) -> None:
        self._is_shown, self._send = is_shown, send
        self._state = _NONE

    def run(self) -> None:
        """A turn runs."""
        self._show(_RUNNING)

    def wait(self) -> None:
        """The turn waits for the person."""
        if self._state != _NONE:
            self._show(_WAITING)

    def go_on(self) -> None:
        """Nothing waits for the person any more."""
        if self._state == _WAITING:
            self._show(_RUNNING)

    def end(self) -> None:
        """Nothing runs."""
        self._show(_NONE)

    def _show(self, state: str) -> None:
        if self._is_shown and state != self._state:
            self._state = state
            self._send(f"\x1b]9;4;{state}\x1b\\")


def knows_progress(environment: Mapping[str, str]) -> bool:
    """Tell whether the terminal is known to show progress; others would take the sequence for a notification.

    Inside tmux or screen it is not: they keep the sequence or pass it on to who knows what.
    """
    if environment.get("TMUX") or environment.get("STY"):
        return False
    if environment.get("WT_SESSION") or environment.get("ConEmuANSI") == "ON":
        return True
    vte = environment.get("VTE_VERSION", "")
    if vte.isdecimal() and int(vte) >= _VTE_SINCE:
        return True
    return environment.get("TERM_PROGRAM", "") in _KNOWN_PROGRAMS

"""What follows from when keys were pressed: twice to quit, twice Esc, and whether somebody is writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

TWICE_S = 2.0


class PressHost(Protocol):
    """What judging presses needs of the program. Times are seconds that never go back."""

    def now(self) -> float: ...

    def later(self, seconds: float, then: Callable[[], None]) -> None: ...

    def has_draft(self) -> bool: ...

    def ask_again(self, key: str) -> None:
        """Say that this key quits when it is pressed again; "" takes that back."""
        ...


class Presses:
    """Remembers the last presses. `typing_s` is how long after a key somebody still counts as writing."""

    def __init__(self, host: PressHost, *, typing_s: float) -> None:
        self._host = host
        self._typing_s = typing_s
        self._armed_by = ""
        self._last_key_at = 0.0
        self._last_key = ""
        self._last_escape_at = float("-inf")

    def saw(self, key: str) -> None:
        """Note a press: any key but a repeat of the same one takes back "press again to quit"."""
        self._last_key_at = self._host.now()
        self._last_key = key
        if self._armed_by and key != self._armed_by:
            self.disarm()

    def arm_exit(self) -> bool:
        """Tell whether this is the second press of its key; the first is forgotten after 2 seconds."""
        key = self._last_key
        if self._armed_by and self._armed_by == key:
            return True
        self._armed_by = key
        self._host.ask_again(key)
        self._host.later(TWICE_S, self.disarm)
        return False

    def disarm(self) -> None:
        """Forget the first press of a key that quits when pressed twice."""
        if self._armed_by:
            self._armed_by = ""
            self._host.ask_again("")

    def escape_twice(self) -> bool:
        """Tell whether Esc was pressed shortly before."""
        now = self._host.now()
        twice = now - self._last_escape_at < TWICE_S
        self._last_escape_at = float("-inf") if twice else now
        return twice

    def is_typing(self) -> bool:
        """Tell whether the person is in the middle of writing."""
        return self._host.now() - self._last_key_at < self._typing_s and self._host.has_draft()

    def when_typing_stops(self, then: Callable[[], None]) -> None:
        """Call `then` once no key came for a while."""

        def look() -> None:
            if self.is_typing():
                self.when_typing_stops(then)
            else:
                then()

        passed = self._host.now() - self._last_key_at
        self._host.later(max(0.05, self._typing_s - passed), look)

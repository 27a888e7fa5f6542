"""What follows from when keys were pressed: twice to quit, twice Esc, and whether somebody is writing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

TWICE_S = 2.0


class Presses:
    """Remembers the last presses. Times are seconds that never go back.

    `later` calls something after a while, `has_draft` tells whether something is written and not sent, `ask_again` says
    that a key quits when it is pressed again and takes that back for "". `typing_s` is how long after a key somebody
    still counts as writing.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        later: Callable[[float, Callable[[], None]], object],
        has_draft: Callable[[], bool],
        ask_again: Callable[[str], None],
        typing_s: float,
    ) -> None:
        self._now = clock
        self._later = later
        self._has_draft = has_draft
        self._ask_again = ask_again
        self._typing_s = typing_s
        self._armed_by = ""
        self._arming = 0
        self._last_key_at = 0.0
        self._last_key = ""
        self._last_escape_at = float("-inf")

    def saw(self, key: str) -> None:
        """Note a press: any key but a repeat of the same one takes back "press again to quit"."""
        self._last_key_at = self._now()
        self._last_key = key
        if self._armed_by and key != self._armed_by:
            self.disarm()

    def arm_exit(self) -> bool:
        """Tell whether this is the second press of its key; the first is forgotten after 2 seconds."""
        key = self._last_key
        if self._armed_by and self._armed_by == key:
            return True
        self._armed_by = key
        self._ask_again(key)
        self._arming += 1
        self._later(TWICE_S, partial(self._forget, self._arming))
        return False

    def _forget(self, arming: int) -> None:
        if arming == self._arming:  # not a later press, which has two seconds of its own
            self.disarm()

    def disarm(self) -> None:
        """Forget the first press of a key that quits when pressed twice."""
        if self._armed_by:
            self._armed_by = ""
            self._ask_again("")

    def escape_twice(self) -> bool:
        """Tell whether Esc was pressed shortly before."""
        now = self._now()
        twice = now - self._last_escape_at < TWICE_S
        self._last_escape_at = float("-inf") if twice else now
        return twice

    def is_typing(self) -> bool:
        """Tell whether the person is in the middle of writing."""
        return self._now() - self._last_key_at < self._typing_s and self._has_draft()

    def when_typing_stops(self, then: Callable[[], None]) -> None:
        """Call `then` once no key came for a while."""

        def look() -> None:
            if self.is_typing():
                self.when_typing_stops(then)
            else:
                then()

        passed = self._now() - self._last_key_at
        self._later(max(0.05, self._typing_s - passed), look)

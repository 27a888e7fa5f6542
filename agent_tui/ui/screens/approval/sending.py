"""Sends the answers of a round; what is undecided is denied only when the person says so twice."""

from __future__ import annotations

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.approval.face import Face
from agent_tui.ui.screens.approval.round import Round, Row


class Sending:
    """Knows which undecided calls were named: a second key denies no others, such as came meanwhile."""

    def __init__(self, face: Face, round_: Round, keys: Keymap) -> None:
        self._face, self._round, self._keys = face, round_, keys
        self._named: frozenset[Row] = frozenset()

    def submit(self) -> None:
        """Send what is decided; at the second time in a row all."""
        undecided = self._round.undecided()
        if self._named.issuperset(undecided):
            self._round.send_all()
            return
        self._round.send_decided()
        self._named = frozenset(undecided)
        count = len(undecided)
        what = "1 call is" if count == 1 else f"{count} calls are"
        submit = self._keys.hint("approval", "submit")
        self._face.say(f"{what} undecided: {submit} again denies {'it' if count == 1 else 'them'}.")

    def forget(self) -> None:
        """Take the question back: another key came between."""
        self._named = frozenset()
        self._face.say("")

    def rows_changed(self) -> None:
        """Take the question back when there are calls that it did not name."""
        if self._named and not self._named.issuperset(self._round.undecided()):
            self.forget()

"""Takes what is written in the approval screen's field and puts it into the round."""

from __future__ import annotations

from typing import Literal

from agent_tui.protocol.permissions import Decision
from agent_tui.ui.screens.approval.face import Face
from agent_tui.ui.screens.approval.fields import CallEdit, Comment, Lasting, Writing
from agent_tui.ui.screens.approval.round import Round

Outcome = Literal["left", "noted", "decided"]


class Writer:
    """One thing is written at a time. While it is, no key decides anything."""

    def __init__(self, face: Face, round_: Round) -> None:
        self._face = face
        self._round = round_
        self._writing: Writing | None = None

    def begin(self, writing: Writing) -> None:
        """Open the field."""
        self._writing = writing
        self._face.field.put(writing.text)
        self._face.show_field(True)
        self._face.screen.set_focus(self._face.field)
        self._face.caption(writing, writing.text)

    def changed(self) -> None:
        """Keep the caption true."""
        if self._writing is None:
            return
        if isinstance(self._writing, Lasting):
            self._writing.confirming = False
        self._face.caption(self._writing, self._face.field.text)

    def act(self, action: str) -> Outcome | None:
        """Do a key of the field; give what came of it once the field is closed, else None."""
        writing, text = self._writing, self._face.field.text
        match action:
            case "cancel":
                return self._close("left")
            case "scope" if isinstance(writing, Lasting):
                writing.next_scope()
                self._face.caption(writing, text)
            case "accept" if isinstance(writing, Comment):
                writing.row.feedback = text.strip()
                return self._close("noted")
            case "accept" if isinstance(writing, CallEdit):
                return self._accept_edit(writing, text)
            case "accept" if isinstance(writing, Lasting):
                return self._accept_lasting(writing, text.strip())
            case _:
                pass
        return None

    def _close(self, outcome: Outcome) -> Outcome:
        self._writing = None
        self._face.show_field(False)
        self._face.say("")
        return outcome

    def _accept_edit(self, writing: CallEdit, text: str) -> Outcome | None:
        arguments = writing.parse(text)
        if arguments is None:
            self._face.caption(writing, text)
            return None
        writing.row.edited = arguments
        writing.row.hunks = None
        self._round.decide(writing.row, Decision.ALLOW)
        return self._close("decided")

    def _accept_lasting(self, writing: Lasting, pattern: str) -> Outcome | None:
        if objection := writing.objection(pattern):
            self._face.say(objection)
            return None
        if not writing.confirming:
            writing.confirming = True
            self._face.caption(writing, pattern)
            return None
        if not writing.accept(pattern):
            self.begin(writing)
            return None
        writing.apply()
        return self._close("decided")

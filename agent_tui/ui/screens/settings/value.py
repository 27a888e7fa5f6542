"""Asks for the new value of one setting."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.editor import Editor, Field


class ValueDialog(Dialog[str | None]):
    """One text field. Gives the text, None when left."""

    DEFAULT_CSS = """
    ValueDialog {
        & > .frame { width: 72; }
        & .about { height: auto; color: $muted; margin-bottom: 1; }
    }
    """

    def __init__(self, keys: Keymap, title: str, about: str, value: str) -> None:
        super().__init__(keys, "field")
        self._title, self._about = title, about
        self._field = Field(keys, ("field", "edit"), text=value)

    def compose(self) -> ComposeResult:
        """Lay out what it is about and the field."""
        with Frame(self.keys) as frame:
            frame.border_title = Content(clean_line(self._title))
            accept, cancel = self.keys.hint("field", "accept"), self.keys.hint("field", "cancel")
            frame.legend = f"{accept} writes · {cancel} leaves it"
            yield Static(Content(clean_line(self._about)), classes="about", markup=False)
            yield self._field

    def on_mount(self) -> None:
        """Stand at the end of the value."""
        self._field.move_cursor(self._field.document.end)
        self.set_focus(self._field)

    def on_editor_act(self, event: Editor.Act) -> None:
        """Accept or leave."""
        event.stop()
        self.act(event.action)

    def act(self, action: str) -> None:
        """Accept or leave."""
        if action == "accept":
            self.finish(self._field.text.strip())
        elif action == "cancel":
            self.finish(None)

"""Asks for something that nobody should see over a shoulder, such as a key."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.editor import Editor, Field


class SecretField(Field):
    """A field that shows a dot for each character."""

    def get_line(self, line_index: int) -> Text:
        """Give dots as long as the line."""
        return Text("•" * len(self.document.get_line(line_index)), end="", no_wrap=True)


class SecretScreen(Dialog[str | None]):
    """One hidden line. Gives it without blanks at its ends, None when left or empty; it is kept nowhere."""

    DEFAULT_CSS = """
    SecretScreen {
        & .message { margin: 1 0; height: auto; }
        & Field { margin-bottom: 1; }
    }
    """

    def __init__(self, keys: Keymap, title: str, message: str) -> None:
        super().__init__(keys, "field")
        self._title, self._message = title, message
        self._field = SecretField(keys, ("field", "edit"))

    def compose(self) -> ComposeResult:
        """Lay out the message and the field."""
        with Frame(self.keys) as frame:
            frame.border_title = Content(clean(self._title))
            frame.legend = self.keys.legend(("field", "accept", "keeps it"), ("field", "cancel", "leaves"))
            yield Static(Content(clean(self._message)), classes="message", markup=False)
            yield self._field

    def on_mount(self) -> None:
        """Be ready for a paste."""
        self.set_focus(self._field)

    def on_editor_act(self, event: Editor.Act) -> None:
        """Do what a key in the field means."""
        event.stop()
        self.act(event.action)

    def take_key(self, event: events.Key) -> None:
        """Know no keys but those of the field."""

    def act(self, action: str) -> None:
        """Keep or leave."""
        if action == "accept":
            self.finish(self._field.text.strip() or None)
        elif action == "cancel":
            self.finish(None)

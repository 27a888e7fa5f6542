"""Asks one yes-or-no question."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.rows import Rows


class Confirm(Dialog[bool]):
    """Gives True only for a yes; leaving it is a no. With `danger` the cursor stands on no."""

    DEFAULT_CSS = """
    Confirm {
        & > .frame { width: 64; }
        & .message { margin: 1 0; height: auto; }
        & Rows { height: 2; margin-bottom: 1; }
        & .-danger { border: round $error; border-title-color: $error; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        title: str,
        message: str,
        *,
        yes: str = "Yes",
        no: str = "No",
        danger: bool = False,
    ) -> None:
        super().__init__(keys, "confirm", "list")
        self._title, self._message = title, message
        self._labels = (yes, no)
        self._danger = danger
        self._rows = Rows(can_focus=True)

    def compose(self) -> ComposeResult:
        """Lay out the question and its two answers."""
        with Frame(self.keys, classes="-danger" if self._danger else "") as frame:
            frame.border_title = Content(clean(self._title))
            frame.legend = self.keys.legend(
                ("confirm", "yes", ""), ("confirm", "no", ""), ("list", "cancel", "")
            )
            yield Static(Content(clean(self._message)), classes="message", markup=False)
            yield self._rows

    def on_mount(self) -> None:
        """Put the cursor on the safe answer."""
        self._rows.set_rows([Content(f" {label}") for label in self._labels], cursor=1 if self._danger else 0)
        self.set_focus(self._rows)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Answer by a click."""
        event.stop()
        self.finish(event.index == 0)

    def act(self, action: str) -> None:
        """Move, answer or leave."""
        match action:
            case "yes" | "no":
                self.finish(action == "yes")
            case "up" | "down":
                self._rows.move(1)
            case "choose":
                self.finish(self._rows.cursor == 0)
            case "cancel":
                self.finish(False)
            case _:
                pass

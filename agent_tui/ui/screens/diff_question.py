"""Asks one question about a text that must be seen first, such as the diff of what would be lost."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.diff_parse import parse_diff
from agent_tui.ui.render.safe import clean, clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.rows import Rows

_STYLES = {"add": "$success", "del": "$error", "hunk": "$muted", "file": "bold"}
_SIGNS = {"add": "+ ", "del": "- ", "context": "  "}


class DiffQuestion(Dialog[bool]):
    """Gives True for `y`, False for `n`; leaving it gives None, which is a no."""

    DEFAULT_CSS = """
    DiffQuestion {
        & > .frame { width: 100; border: round $warning; border-title-color: $warning; }
        & .message { margin: 1 0; height: auto; }
        & Rows { height: auto; max-height: 20; min-height: 1; margin-bottom: 1; }
        & .answers { color: $muted; height: 1; }
    }
    """

    def __init__(self, keys: Keymap, message: str, text: str, *, yes: str, no: str) -> None:
        super().__init__(keys, "confirm", "list")
        self._message, self._text = message, text
        self._yes, self._no = yes, no
        self._rows = Rows(can_focus=True)

    def compose(self) -> ComposeResult:
        """Lay out the message, the text and the answers."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Look first")
            frame.legend = self.keys.legend(
                ("confirm", "yes", ""), ("confirm", "no", ""), ("list", "cancel", "")
            )
            yield Static(Content(clean(self._message)), classes="message", markup=False)
            yield self._rows
            yield Static(Content(self._answers()), classes="answers", markup=False)

    def _answers(self) -> str:
        yes, no = self.keys.hint("confirm", "yes"), self.keys.hint("confirm", "no")
        return f"{yes}  {self._yes}    {no}  {self._no}"

    def on_mount(self) -> None:
        """Show the text."""
        lines = [
            Content.styled(
                f"{_SIGNS.get(line.kind, '')}{clean_line(line.text.expandtabs(4))}",
                _STYLES.get(line.kind, ""),
            )
            for line in parse_diff(self._text).lines
        ]
        self._rows.set_rows(lines)
        self.set_focus(self._rows)

    def act(self, action: str) -> None:
        """Scroll or leave."""
        match action:
            case "yes" | "no":
                self.finish(action == "yes")
            case "up" | "down":
                self._rows.move(-1 if action == "up" else 1, wrap=False)
            case "page_up" | "page_down":
                self._rows.page(-1 if action == "page_up" else 1)
            case "cancel":
                self.finish(None)
            case _:
                pass

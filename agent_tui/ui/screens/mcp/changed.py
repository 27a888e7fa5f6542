"""Shows how a server describes its tools now, against what was accepted, and asks whether that counts."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.servers import ChangedView
from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.rows import Rows

NO, YES = "Leave them switched off", "Accept what stands here"
_WHY = (
    "What a server says of its tools goes to the model. These words changed since you accepted them; read them as you "
    "would read a letter from a stranger."
)


class ChangedScreen(Dialog[bool]):
    """Gives True only when "accept" was chosen; the cursor stands on no, and leaving is a no."""

    DEFAULT_CSS = """
    ChangedScreen {
        & > .frame { width: 100; height: 90%; border: round $warning; border-title-color: $warning; }
        & .why { height: auto; margin: 1 0; }
        & Transcript { height: 1fr; min-height: 3; }
        & Rows { height: 2; margin: 1 0; }
    }
    """

    def __init__(self, keys: Keymap, server: str, changed: Sequence[ChangedView], palette: Palette) -> None:
        super().__init__(keys)
        self._server, self._changed = server, changed
        self._text = Transcript(palette)
        self._rows = Rows(can_focus=True)

    def compose(self) -> ComposeResult:
        """Lay out the differences and the two answers."""
        with Vertical(classes="frame") as frame:
            frame.border_title = Content(clean_line(f"{self._server} describes its tools differently"))
            frame.border_subtitle = Content(
                self.keys.legend(
                    ("list", "page_up", ""),
                    ("list", "page_down", "scroll"),
                    ("list", "choose", "chooses"),
                    ("list", "cancel", "is no"),
                )
            )
            yield Static(Content(_WHY), classes="why", markup=False)
            yield self._text
            yield self._rows

    def on_mount(self) -> None:
        """Open every difference and put the cursor on no."""
        self._text.load([_block(change) for change in self._changed])
        self._text.toggle_all()
        self._text.go_home()
        self._rows.set_rows([Content(f" {label}") for label in (NO, YES)], cursor=0)
        self._rows.focus()

    def take_key(self, event: events.Key) -> None:
        """Know the key of no besides those of every list; one for yes is too easily typed for this."""
        press = self.keys.press(("confirm", self.context), event.key, event.character)
        if press.action or press.pending:
            event.stop()
        if press.action == "no":
            self.finish(False)
        elif press.action and press.action != "yes":
            self.act(press.action)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Answer by a click."""
        event.stop()
        self.finish(event.index == 1)

    def act(self, action: str) -> None:
        """Scroll, move, answer or leave."""
        match action:
            case "up" | "down":
                self._rows.move(1)
            case "page_up" | "page_down":
                self._text.scroll_page(-1 if action == "page_up" else 1)
            case "first":
                self._text.go_home()
            case "last":
                self._text.go_end()
            case "choose":
                self.finish(self._rows.cursor == 1)
            case "cancel":
                self.finish(False)
            case _:
                pass


def _block(change: ChangedView) -> ReplayBlock:
    return ReplayBlock(
        kind="tool",
        text=change.diff,
        display_name=change.tool,
        title="accepted, and now",
        content_type="diff",
        full_length=len(change.diff),
        full_lines=change.diff.count("\n") + 1,
    )

"""Asks for a yes to content that must be read first: the cursor stands on no, and leaving is a no."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.rows import Rows


class Consent(Dialog[bool]):
    """Gives True only when the second answer, `yes`, was chosen. All `blocks` stand open."""

    DEFAULT_CSS = """
    Consent {
        & > .frame { width: 100; border: round $warning; border-title-color: $warning; }
        & .why { height: auto; margin: 1 0; }
        & Transcript { height: 3; min-height: 3; }
        & Rows { height: 2; margin: 1 0; }
        &.-low .why { margin: 0; max-height: 3; }
        &.-low Rows { margin: 0; }
        &.-low Transcript { min-height: 1; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        palette: Palette,
        *,
        title: str,
        why: str,
        blocks: Sequence[ReplayBlock],
        no: str,
        yes: str,
    ) -> None:
        super().__init__(keys, "confirm", "list")
        self._title, self._why, self._blocks, self._answers = title, why, list(blocks), (no, yes)
        self._text = Transcript(palette)
        self._rows = Rows(can_focus=True)

    def compose(self) -> ComposeResult:
        """Lay out the reason, the content, and the two answers."""
        with Frame(self.keys) as frame:
            frame.border_title = Content(self._title)
            frame.legend = self.keys.legend(
                ("list", "choose", "chooses"),
                ("list", "page_down", "scrolls"),
                ("list", "cancel", "is no"),
            )
            yield Static(Content(self._why), classes="why", markup=False)
            yield self._text
            yield self._rows

    def on_mount(self) -> None:
        """Open everything and put the cursor on no."""
        self._text.load(self._blocks)
        self._text.toggle_all()
        self._text.go_home()
        self._rows.set_rows([Content(f" {label}") for label in self._answers], cursor=0)
        self.set_focus(self._rows)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the answers in sight where there is little room."""
        self.set_class(event.size.height < 18, "-low")
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Be as high as the content, at most nine tenths of the screen."""
        document, most = self._text.document, self.size.height * 9 // 10
        rows = 0
        for index in range(len(document)):
            document.measure(index)
            rows = document.heights.before(index + 1)
            if rows > most:
                break
        frame = self.query_one(Frame)
        others = frame.outer_size.height - self._text.size.height
        self._text.styles.height = max(1, min(rows, most - others))

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Answer by a click."""
        event.stop()
        self.finish(event.index == 1)

    def act(self, action: str) -> None:
        """Scroll, move, answer or leave. The key of yes is too easily typed for this: it does nothing."""
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
            case "no" | "cancel":
                self.finish(False)
            case _:
                pass

"""Shows the whole of one tool result."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.transcript.view import Transcript


class Viewer(Dialog[None]):
    """A transcript with one open panel, over the whole screen."""

    DEFAULT_CSS = """
    Viewer {
        & > .frame { width: 100%; height: 100%; max-height: 100%; background: $background; }
        & Transcript { height: 1fr; }
    }
    """

    def __init__(self, keys: Keymap, block: ReplayBlock, palette: Palette) -> None:
        super().__init__(keys)
        self._block = block
        self._view = Transcript(palette)

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        with Frame(self.keys) as frame:
            frame.border_title = Content(clean_line(f"{self._block.display_name}: {self._block.title}"))
            frame.legend = f"{self._block.full_lines:,} lines · " + self.keys.legend(
                ("list", "cancel", "closes")
            )
            yield self._view

    def on_mount(self) -> None:
        """Open the panel."""
        self._view.load([self._block])
        if self._block.state != "error":
            self._view.toggle(0)
        self._view.go_home()

    def act(self, action: str) -> None:
        """Scroll or close."""
        match action:
            case "up" | "down":
                self._view.scroll_rows(-1 if action == "up" else 1)
            case "page_up" | "page_down":
                self._view.scroll_page(-1 if action == "page_up" else 1)
            case "first":
                self._view.go_home()
            case "last":
                self._view.go_end()
            case "choose" | "cancel":
                self.finish(None)
            case _:
                pass

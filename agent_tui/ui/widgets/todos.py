"""The model's task list between conversation and prompt, shown when the person wants it."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.widget import Widget

from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line

_SHOWN = 8
_DONE = ("☑", "⊘")


class TodoView(Widget):
    """Shows the list as it is now. `read` gives it as one line per task with its mark in front."""

    DEFAULT_CSS = """
    TodoView { height: auto; max-height: 10; padding: 0 1; display: none; color: $foreground; }
    """

    def __init__(self, read: Callable[[], str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._read = read
        self._text = ""

    def show(self, wanted: bool) -> None:
        """Show or hide the list."""
        self.display = wanted
        self.look()

    def look(self) -> None:
        """Read the list again, if it is shown."""
        if not self.display:
            return
        text = self._read()
        if text != self._text:
            self._text = text
            self.refresh(layout=True)

    def render(self) -> Content:
        """Draw what is open first, and how much is done."""
        lines = self._text.splitlines()
        if not lines:
            return Content.styled("No task list yet; the model makes one for longer work.", "$muted")
        done = [line for line in lines if line.startswith(_DONE)]
        open_ones = [line for line in lines if not line.startswith(_DONE)]
        head = spans(("Tasks ", "bold $accent"), (f"{len(done)} of {len(lines)} done", "$muted"))
        shown = [*open_ones, *reversed(done)][:_SHOWN]
        width = self.content_size.width or 80
        rows = [self._row(line).truncate(width, ellipsis=True) for line in lines if line in shown]
        hidden = len(lines) - len(shown)
        more = [Content.styled(f"  and {hidden} more", "$faint")] if hidden > 0 else []
        return Content("\n").join([head, *rows, *more])

    def _row(self, line: str) -> Content:
        style = "$faint" if line.startswith(_DONE) else "bold" if line.startswith("▶") else ""
        return spans("  ", (clean_line(line), style) if style else clean_line(line))

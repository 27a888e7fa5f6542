"""Greets at the very first start: what answers, what asks, where to begin. Typing goes on to the prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.backend import StatusView
from agent_tui.ui.commands.reports import MODE_WORDS
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.editor import types
from agent_tui.ui.widgets.rows import Rows

Wish = Literal["begin", "models", "themes", "settings", "help"]
_WISHES: tuple[tuple[Wish, str], ...] = (
    ("begin", "Begin"),
    ("models", "Choose the model"),
    ("themes", "Choose the colours"),
    ("settings", "Look at the settings"),
    ("help", "See keys and commands"),
)
_OFFLINE = "no language model is connected: the built-in one answers, to try things out"


class Welcome(Dialog[Wish]):
    """Gives what was chosen. Any text that is typed goes to `typed` and closes it, keys behind it go to `pressed`."""

    DEFAULT_CSS = """
    Welcome {
        & > .frame { width: 76; padding: 0 2; }
        & .facts { height: auto; margin: 1 0; }
        & Rows { height: 5; margin-bottom: 1; }
        &.-low .facts { margin: 0; }
        &.-low Rows { margin-bottom: 0; }
        &.-lowest .facts { display: none; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        status: StatusView,
        *,
        typed: Callable[[str], None],
        pressed: Callable[[events.Key | events.Paste], object],
        cursor: int = 0,
    ) -> None:
        super().__init__(keys)
        self._status, self._typed, self._pressed, self._cursor = status, typed, pressed, cursor
        self._passes_on = False
        self._rows = Rows(can_focus=True)

    def compose(self) -> ComposeResult:
        """Lay out the facts and what can be done."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Welcome to agent-tui")
            frame.legend = self.keys.legend(("list", "choose", "chooses"), ("list", "cancel", "begins"))
            yield Static(self._facts(), classes="facts", markup=False)
            yield self._rows

    def _facts(self) -> Content:
        status = self._status
        model = _OFFLINE if status.provider == "offline" else f"{status.provider}:{status.model}"
        sandbox = f"{status.sandbox}; commands run inside it" if status.sandbox else "being looked for"
        rows = (
            ("Model", model),
            ("Project", status.workspace),
            ("Sandbox", sandbox),
            ("Mode", f"{MODE_WORDS[status.mode]}; {self.keys.hint('global', 'cycle_mode')} changes it"),
            ("Asking", "once a round, before anything is written or run"),
        )
        lines = [spans((f"{name:<9}", "$muted"), clean_line(text)) for name, text in rows if text]
        return Content("\n").join(lines)

    def on_mount(self) -> None:
        """Stand on the first choice."""
        self._rows.set_rows([Content(f" {label}") for _, label in _WISHES], cursor=self._cursor)
        self.set_focus(self._rows)

    def on_resize(self, event: events.Resize) -> None:
        """Leave blank lines out where there is little room."""
        self.set_class(event.size.height < 18, "-low")
        self.set_class(event.size.height < 16 and event.size.width < 80, "-lowest")

    def take_key(self, event: events.Key) -> None:
        """Pass on what is typed."""
        if types(event):
            event.stop()
            self._passes_on = True
            self.finish("begin")
            self._typed(event.character or "")
            return
        if self._passes_on:  # an Enter that came at once with the text
            event.stop()
            self._pressed(events.Key(event.key, event.character))
            return
        super().take_key(event)

    def on_paste(self, event: events.Paste) -> None:
        """Pass on what is pasted."""
        event.stop()
        self.finish("begin")
        self._pressed(event)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Choose by a click."""
        event.stop()
        self.act("choose")

    def act(self, action: str) -> None:
        """Move, choose or begin."""
        match action:
            case "up":
                self._rows.move(-1)
            case "down":
                self._rows.move(1)
            case "first":
                self._rows.first()
            case "last":
                self._rows.last()
            case "choose":
                self.finish(_WISHES[max(0, self._rows.cursor)][0])
            case "cancel":
                self.finish("begin")
            case _:
                pass

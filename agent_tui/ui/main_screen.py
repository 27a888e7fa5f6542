"""The screen with conversation, prompt and status line."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.activity import Activity, Banner, QueueView
from agent_tui.ui.widgets.completion import Completion
from agent_tui.ui.widgets.prompt import Prompt
from agent_tui.ui.widgets.status import StatusLine
from agent_tui.ui.widgets.todos import TodoView

_LOW = 18
ECHO_S = 0.012
_SHORT = 10
_TINY = 5


class MainScreen(Screen[None], inherit_bindings=False):
    """Lays the parts out. They are made by the app, which holds them, so that nothing is looked up by name."""

    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS: ClassVar[str | None] = "#prompt"

    def __init__(
        self,
        *,
        transcript: Transcript,
        below: Static,
        todos: TodoView,
        activity: Activity,
        queue: QueueView,
        banner: Banner,
        completion: Completion,
        prompt: Prompt,
        status: StatusLine,
    ) -> None:
        super().__init__()
        self._above: list[Widget] = [transcript, below, todos, activity, queue, banner, completion]
        self._prompt, self._status = prompt, status
        self._echoed_s = 0.0

    def compose(self) -> ComposeResult:
        """Stack the parts."""
        yield from self._above
        with Horizontal(id="prompt-box"):
            yield Static(Content("›"), id="marker", markup=False)
            yield self._prompt
        yield self._status

    async def _on_idle(self, event: events.Idle) -> None:
        # Textual gathers changes for 16 ms, which is felt between a key and its letter. Keys faster than anybody types
        # are gathered as ever. Textual calls its own handler after this one.
        now = time.perf_counter()
        if self._prompt in self._dirty_widgets and now - self._echoed_s > ECHO_S and self.is_current:
            self._echoed_s = now
            self._on_timer_update()

    def on_resize(self) -> None:
        """Leave frames and the status line out where there is no room."""
        self.set_class(self.size.height < _LOW, "-low")
        self.set_class(self.size.height < _SHORT, "-short")
        self.set_class(self.size.height < _TINY, "-tiny")

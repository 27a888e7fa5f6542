"""Chooses a session: its last words stand below the list, and what is typed is looked for in all that was said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static, TextArea

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.backend import SessionView
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.screens.picker import Choice, Picker
from agent_tui.ui.screens.settings.value import ValueDialog

_MIN_SEARCH_CHARS = 3


class SessionPicker(Picker):
    """A picker of sessions. `excerpt` gives the last words of one, `search` the ids of those that hold some words."""

    DEFAULT_CSS = """
    SessionPicker {
        & Rows { max-height: 10; }
        & .excerpt { height: auto; max-height: 8; margin-top: 1; padding-top: 1; border-top: solid $line; color: $muted; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        choices: Sequence[Choice],
        *,
        excerpt: Callable[[str], Awaitable[str]],
        search: Callable[[str], Awaitable[Sequence[str]]],
        rename: Callable[[str, str], Awaitable[None]],
    ) -> None:
        super().__init__(
            keys,
            "Sessions",
            choices,
            preview=self._look,
            empty="No earlier sessions.",
            placeholder="type to search titles and all that was said",
        )
        self._excerpt = excerpt
        self._search = search
        self._rename = rename
        self._below = Static("", classes="excerpt", markup=False)
        self._trouble = (
            "",
            "",
        )  # of which session a name was refused, and why; shown until another is looked at

    def compose(self) -> ComposeResult:
        """Lay out search line, list and excerpt."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Sessions")
            frame.legend = self.keys.legend(
                ("list", "choose", "opens"), ("list", "rename", "names"), ("list", "cancel", "closes")
            )
            yield from self.parts()
            yield self._below

    def on_mount(self) -> None:
        """Show the words of the first one, once the list is there."""
        self.call_after_refresh(lambda: self._look(self.under_cursor))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Look for what is typed in all that was said, too."""
        text = event.text_area.text.strip()
        if len(text) >= _MIN_SEARCH_CHARS:
            self.run_worker(partial(self._find, text), group="find", exclusive=True)

    def act(self, action: str) -> None:
        """Name the session under the cursor, or do what every list does."""
        key = self.under_cursor
        if action != "rename":
            super().act(action)
        elif key:
            about = "The name finds it again: agent-tui --resume NAME"
            dialog = ValueDialog(self.keys, "Name this session", about, self.label_of(key))
            self.program.push_screen(dialog, partial(self._named, key))

    def _named(self, key: str, name: str | None) -> None:
        if name:
            self.run_worker(partial(self._give_name, key, name), group="name", exclusive=True)

    async def _give_name(self, key: str, name: str) -> None:
        try:
            await self._rename(key, name)
        except AgentTuiError as error:
            self._trouble = (key, str(error))
            self._look(key)
        else:
            self._trouble = ("", "")
            self.relabel(key, name)

    def _look(self, key: str | None) -> None:
        if key:
            self.run_worker(partial(self._describe, key), group="describe", exclusive=True)

    async def _describe(self, key: str) -> None:
        refused, why = self._trouble
        if key != refused:
            self._trouble = ("", "")
        try:
            text = why if key == refused else await self._excerpt(key)
        except AgentTuiError as error:
            text = str(error)
        self._below.update(Content(clean(text)))

    async def _find(self, text: str) -> None:
        self.show_also(text, await self._search(text))


def session_choice(view: SessionView, current: str, here: str) -> Choice:
    """Give the entry of one session; `here` is the workspace whose sessions need not name theirs."""
    label = view.name or " ".join(view.first_prompt.split())[:60] or view.session_id
    turns = "1 turn" if view.turns == 1 else f"{view.turns} turns"
    where = f" · {Path(view.workspace).name}" if view.workspace not in ("", here) else ""
    detail = f"{turns} · {view.session_id}{where}"
    return Choice(view.session_id, label, detail, current=view.session_id == current)

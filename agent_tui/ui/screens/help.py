"""The help sheet: keys and commands, made from the tables that are in force."""

from __future__ import annotations

import textwrap

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import TextArea

from agent_tui.ui.bindings import ACTIONS
from agent_tui.ui.commands.registry import Registry
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.editor import Editor, Field
from agent_tui.ui.widgets.rows import Rows

_WIDTH = 100
_FRAME_CELLS = 6  # border, padding, scrollbar and the cursor's bar
_KEY_CELLS = 36
_NARROW_CELLS = 74

_NAMED = {
    "prompt": "Writing",
    "edit": "Editing text",
    "global": "Everywhere",
    "vim": "Vim's normal mode",
    "approval": "Approving calls",
    "list": "Lists",
    "reader": "Reading the conversation",
    "pages": "Dialogs with pages",
    "rules": "Permissions",
    "changes": "Changes (/diff)",
    "question": "Questions",
    "confirm": "Yes or no",
    "field": "Text fields",
}
TITLES = {**_NAMED, **{context: context.capitalize() for context in ACTIONS if context not in _NAMED}}
"""The contexts of the keymap as the sheet calls them, in its order."""


class Help(Dialog[None]):
    """Lists commands and keys; typing narrows the list. Nothing in it is written by hand.

    The topic "keys" opens it at the keys of `context`.
    """

    DEFAULT_CSS = """
    Help {
        & > .frame { width: 100; height: 90%; }
        & Field { margin-bottom: 1; }
        & Rows { height: 1fr; }
    }
    """

    def __init__(self, keys: Keymap, registry: Registry, *, topic: str = "", context: str = "prompt") -> None:
        super().__init__(keys)
        self._opens_at = context
        self._registry = registry
        self._topic = topic
        self._field = Field(keys, ("list", "edit"), placeholder="type to search")
        self._rows = Rows()

    def compose(self) -> ComposeResult:
        """Lay out search line and list."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Help")
            frame.legend = self.keys.legend(("list", "cancel", "closes"))
            yield self._field
            yield self._rows

    def on_mount(self) -> None:
        """Show the topic that was asked for."""
        self.set_focus(self._field)
        self._rows.set_rows(self.lines(""), cursor=0)
        if self._topic and self._topic != "keys":
            self._field.put(self._topic)
        elif self._topic == "keys":
            self._rows.lead_with(self.lines("").index(_head(TITLES[self._opens_at])))

    def on_resize(self, _event: events.Resize) -> None:
        """Break the lines anew."""
        self._rows.set_rows(self.lines(self._field.text.strip()))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Narrow the list."""
        event.stop()
        self._rows.set_rows(self.lines(event.text_area.text.strip()), cursor=0)

    def on_editor_act(self, event: Editor.Act) -> None:
        """Do what a key in the search line means."""
        event.stop()
        self.act(event.action)

    def act(self, action: str) -> None:
        """Scroll or close."""
        if self._rows.perform(action, wrap=False):
            return
        match action:
            case "choose" | "cancel":
                self.finish(None)
            case _:
                pass

    def lines(self, query: str) -> list[Content]:
        """Give the rows that contain `query`, under their headings; a long one goes on below."""
        room = min(_WIDTH, self.program.size.width) - _FRAME_CELLS
        found: list[Content] = []
        for title, pairs in self._sections():
            kept = [pair for pair in pairs if query.lower() in f"{pair[0]} {pair[1]}".lower()]
            if kept:
                found += [Content("")] if found else []
                found.append(_head(title))
                found += [line for left, right in kept for line in _lines(left, right, room)]
        return found or [Content.styled("Nothing found.", "$muted")]

    def _sections(self) -> list[tuple[str, list[tuple[str, str]]]]:
        commands = [
            (f"/{command.name} {command.usage}".strip(), _summary(command.told, command.aliases))
            for command in self._registry.all()
        ]
        sheets = [
            (title, self.keys.sheet(context))
            for context, title in TITLES.items()
            if context != "vim" or self.keys.preset == "vim"
        ]
        return [("Commands", commands), *sheets]


def _summary(summary: str, aliases: tuple[str, ...]) -> str:
    return f"{summary}  (also {', '.join(f'/{alias}' for alias in aliases)})" if aliases else summary


def _head(title: str) -> Content:
    return Content.styled(title, "bold $accent")


def _lines(left: str, right: str, room: int) -> list[Content]:
    """Set a pair in two columns of `room` cells; where that is too narrow, one below the other."""
    is_narrow = room < _NARROW_CELLS
    indent = 6 if is_narrow else _KEY_CELLS
    parts = textwrap.wrap(right, max(12, room - indent), break_on_hyphens=False)
    if is_narrow or not parts or len(left) > _KEY_CELLS - 4:
        heads = textwrap.wrap(left, max(12, room - 2), subsequent_indent="  ", break_on_hyphens=False)
        first = [Content(f"  {head}") for head in heads]
    else:
        first = [spans(f"  {left}".ljust(indent), (parts.pop(0), "$muted"))]
    return first + [spans(" " * indent, (part, "$muted")) for part in parts]

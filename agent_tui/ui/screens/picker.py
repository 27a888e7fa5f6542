"""Chooses one of many by typing a few letters: sessions, models, themes, commands, earlier prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static, TextArea

from agent_tui.ui.commands.fuzzy import rank
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import matched, spans
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.editor import Editor, Field
from agent_tui.ui.widgets.rows import Rows

_WIDTH = 84
_FRAME_CELLS = 8  # border, padding, scrollbar, the cursor's bar and the mark
_LEAST_DETAIL = 8
_TALL_ROWS = 20


@dataclass(frozen=True)
class Choice:
    """One entry: `key` is what choosing it gives, `label` what is searched, `detail` stands behind it."""

    key: str
    label: str
    detail: str = ""
    current: bool = False


class Picker(Dialog[str | None]):
    """A list with a search line. Gives the key of the entry that was chosen, None when left.

    With the class "-over" it stands at the bottom and dims nothing, for a preview of what is behind it.
    `preview` is called with the key under the cursor as it moves, and with None when the picker is left.
    """

    DEFAULT_CSS = """
    Picker {
        & > .frame { height: auto; }
        & Field { margin-bottom: 1; }
        & Rows { height: auto; max-height: 16; }
        & .empty { color: $muted; display: none; height: 1; }
        &.-over { align: center bottom; background: transparent; }
        &.-over.-tall > .frame { margin-bottom: 4; }  /* the prompt and the status line stay in sight */
        &.-over Rows { max-height: 8; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        title: str,
        choices: Sequence[Choice],
        *,
        preview: Callable[[str | None], None] | None = None,
        empty: str = "Nothing here.",
        placeholder: str = "type to search",
    ) -> None:
        super().__init__(keys)
        self._title = title
        self._choices = list(choices)
        self._shown = self._choices
        self._preview = preview
        self._empty = empty
        self._field = Field(keys, ("list", "edit"), placeholder=placeholder)
        self._rows = Rows()
        self._none = Static(self._empty, classes="empty", markup=False)
        self._also: frozenset[str] = frozenset()

    def compose(self) -> ComposeResult:
        """Lay out search line and list."""
        with Frame(self.keys) as frame:
            frame.border_title = Content(self._title)
            frame.legend = self.keys.legend(("list", "choose", "chooses"), ("list", "cancel", "closes"))
            yield from self.parts()

    def parts(self) -> ComposeResult:
        """Give search line and list."""
        yield self._field
        yield self._rows
        yield self._none

    @property
    def under_cursor(self) -> str | None:
        """The key of the entry under the cursor."""
        return self._shown[self._rows.cursor].key if self._shown and self._rows.cursor >= 0 else None

    def replace(self, choices: Sequence[Choice]) -> None:
        """Show other entries, narrowed by what is typed."""
        self._choices = list(choices)
        self._show(self._field.text.strip(), 0)

    def show_also(self, query: str, keys: Sequence[str]) -> None:
        """Show the entries `keys` too, if `query` is what is still typed."""
        if query == self._field.text.strip():
            self._also = frozenset(keys)
            self._show(query, self._rows.cursor)

    def relabel(self, key: str, label: str) -> None:
        """Give an entry another label; what is typed and the cursor stay."""
        self._choices = [replace(c, label=label) if c.key == key else c for c in self._choices]
        self._show(self._field.text.strip(), self._rows.cursor)

    def label_of(self, key: str) -> str:
        """Give the label of an entry, "" when there is none."""
        return next((choice.label for choice in self._choices if choice.key == key), "")

    def on_mount(self) -> None:
        """Show everything and put the cursor on what is in force."""
        self.set_focus(self._field)
        at = next((index for index, choice in enumerate(self._choices) if choice.current), 0)
        self._show("", at)

    def on_resize(self, event: events.Resize) -> None:
        """Leave the prompt in sight where there is room for both."""
        self.set_class(event.size.height >= _TALL_ROWS, "-tall")

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Search for what is typed."""
        event.stop()
        self._also = frozenset()
        self._show(event.text_area.text.strip(), 0)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Preview what is under the cursor."""
        event.stop()
        if self._preview is not None and self._shown:
            self._preview(self._shown[event.index].key)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Choose by a click."""
        event.stop()
        self.act("choose")

    def on_editor_act(self, event: Editor.Act) -> None:
        """Do what a key in the search line means."""
        event.stop()
        self.act(event.action)

    def act(self, action: str) -> None:
        """Move, choose or leave."""
        if self._rows.perform(action):
            return
        match action:
            case "choose":
                self._choose()
            case "cancel":
                if self._preview is not None:
                    self._preview(None)
                self.finish(None)
            case _:
                pass

    def _choose(self) -> None:
        if self._shown:
            self.finish(self._shown[self._rows.cursor].key)

    def _show(self, query: str, cursor: int) -> None:
        matches = rank(query, self._choices, lambda choice: choice.label, limit=500)
        if query:
            hit = {id(match.item) for match in matches}
            wanted = query.lower()
            others = [
                c
                for c in self._choices
                if id(c) not in hit and (wanted in c.detail.lower() or c.key in self._also)
            ]
        else:
            others = []
        self._shown = [*(match.item for match in matches), *others]
        width = max((Content(choice.label).cell_length for choice in self._shown), default=0)
        room = min(_WIDTH, self.program.size.width) - _FRAME_CELLS
        details = max((Content(choice.detail).cell_length for choice in self._shown), default=0)
        width = min(width, max(40, room - details - 4)) + 2
        tells = room - width >= _LEAST_DETAIL
        rows = [_row(match.item, match.positions, width, tells=tells) for match in matches]
        rows += [_row(choice, (), width, tells=tells) for choice in others]
        self._rows.set_rows(rows, cursor=cursor)
        self._none.update(Content(self._empty if not query else "Nothing matches what is typed."))
        self._none.display = not rows
        if query and rows and self._preview is not None:
            self._preview(self._shown[0].key)


def _row(choice: Choice, positions: Sequence[int], width: int, *, tells: bool) -> Content:
    mark = Content.styled("• ", "$accent") if choice.current else Content("  ")
    label = matched(choice.label, positions)
    if not tells:
        return spans(mark, label)
    gap = " " * max(2, width - label.cell_length)
    return spans(mark, label, gap, (clean_line(choice.detail), "$muted"))

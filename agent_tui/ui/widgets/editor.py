"""A text field with readline keys, done at once in the order they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.document._document_navigator import DocumentNavigator
from textual.document._wrapped_document import WrappedDocument
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Location

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.widgets.clusters import cluster_end, cluster_start
from agent_tui.ui.widgets.readline import KillRing, cased_word, swapped_characters, swapped_words

_WORD = re.compile(r"\w+")


def types(event: events.Key) -> bool:
    """Tell whether a key that nothing is bound to types its character; Textual gives one to Alt with a letter too."""
    return event.is_printable and event.character is not None and not event.key.startswith("alt+")


class _Wrapped(WrappedDocument):
    """A wrapped text whose height is known: Textual's sums up all lines, and asks after every key."""

    @property
    def height(self) -> int:
        return len(self._offset_to_line_info)


class Editor(TextArea, inherit_bindings=False):
    """Text with readline keys. It never blinks, so that an idle program writes nothing.

    Keys are looked up in the keymap and handled before they bubble: Textual runs its own bindings only afterwards,
    so that of two keys that come in one read the second would be done first. Actions that are not about
    editing are posted as `Act`.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    class Act(Message):
        """A key asks for something the field does not do itself. `action` is a keymap action."""

        def __init__(self, editor: Editor, action: str) -> None:
            super().__init__()
            self.editor = editor
            self.action = action

        @property
        def control(self) -> Editor:
            """The field it happened in."""
            return self.editor

    def __init__(
        self,
        keys: Keymap,
        contexts: Sequence[str],
        *,
        text: str = "",
        placeholder: str = "",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(
            text,
            id=id,
            classes=classes,
            compact=True,
            highlight_cursor_line=False,
            placeholder=placeholder,
        )
        self.cursor_blink = False
        self._tells_change = False
        self.keys = keys
        self._contexts = tuple(contexts)
        self.seen: events.Key | None = None  # the last key that came here, whoever takes it
        self._kills = KillRing()
        self._yanked: tuple[Location, Location] | None = None
        self._edits: dict[str, Callable[[], None]] = {
            "kill_line": self._kill_line,
            "kill_to_start": lambda: self._kill(self.get_cursor_line_start_location()),
            "kill_word_left": lambda: self._kill(self._word_left()),
            "kill_word_right": lambda: self._kill(self._word_right()),
            "yank": lambda: self._yank(self._kills.current),
            "yank_pop": self._yank_pop,
            "transpose": lambda: self._rewrite(swapped_characters(*self._line_and_column())),
            "transpose_words": lambda: self._rewrite(swapped_words(*self._line_and_column())),
            "upper_word": lambda: self._rewrite(cased_word(*self._line_and_column(), "upper")),
            "lower_word": lambda: self._rewrite(cased_word(*self._line_and_column(), "lower")),
            "capital_word": lambda: self._rewrite(cased_word(*self._line_and_column(), "capital")),
            "undo": self.action_undo,
            "redo": self.action_redo,
            "line_start": lambda: self.move_cursor(self.get_cursor_line_start_location()),
            "line_end": lambda: self.move_cursor(self.get_cursor_line_end_location()),
            "word_left": lambda: self.move_cursor(self._word_left()),
            "word_right": lambda: self.move_cursor(self._word_right()),
            "left": self.action_cursor_left,
            "right": self.action_cursor_right,
            "delete_left": self.action_delete_left,
            "delete_right": self.action_delete_right,
            "newline": lambda: self.insert_text("\n"),
        }

    def put(self, text: str) -> None:
        """Replace the text and go to its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def load_text(self, text: str) -> None:
        """Replace the text; what was yanked into the old one cannot be turned any more."""
        self._yanked = None
        super().load_text(text)

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(text, language)
        self.wrapped_document = _Wrapped(self.document, tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)

    def render_line(self, y: int) -> Strip:
        """Draw a line; nothing without a column to draw in, where a placeholder could not be broken into lines."""
        return super().render_line(y) if self.content_size.width else Strip.blank(0)

    def post_message(self, message: Message) -> bool:
        """Post a message; of changes that nobody has heard of yet one is told, moves of the cursor never.

        A paste that comes as keys would else be told letter by letter, each time to all that look at the text.
        """
        if isinstance(message, TextArea.SelectionChanged):
            return True
        if isinstance(message, TextArea.Changed):
            if self._tells_change:
                return True
            self._tells_change = super().post_message(message)
            return self._tells_change
        return super().post_message(message)

    def _on_text_area_changed(self) -> None:
        self._tells_change = False

    def insert_text(self, text: str) -> None:
        """Insert at the cursor, as if typed."""
        self._replace_via_keyboard(text, *self.selection)

    def _recompute_cursor_offset(self) -> None:
        # An undo that takes the scrollbar away comes here before Textual has moved the cursor back into the text.
        if self.cursor_location <= self.document.end:
            super()._recompute_cursor_offset()

    async def _on_key(self, event: events.Key) -> None:
        self.seen = event
        event.prevent_default()
        press = self.keys.press(self._contexts, event.key, event.character)
        if press.pending:
            event.stop()
        elif press.action and self.wants(press.action):
            event.stop()
            self.perform(press.action, event)
        elif types(event):
            event.stop()
            self._kills.interrupt()
            self._yanked = None
            self.insert_text(event.character or "")

    def wants(self, action: str) -> bool:
        """Tell whether a bound key means its action now; if not, a printable one is typed."""
        return True

    def perform(self, action: str, event: events.Key) -> None:
        """Do an editing action or post it for others."""
        if not action.startswith("kill"):
            self._kills.interrupt()
        if not action.startswith("yank"):
            self._yanked = None
        if (do := self._edits.get(action)) is not None:
            do()
        else:
            self.post_message(self.Act(self, action))

    def _kill_line(self) -> None:
        row, column = self.cursor_location
        at_end = column == len(self.document[row])
        below = at_end and row + 1 < self.document.line_count
        self._kill((row + 1, 0) if below else (row, len(self.document[row])))

    def _kill(self, to: Location) -> None:
        start, end = sorted((self.cursor_location, to))
        if start != end:
            side = "left" if to < self.cursor_location else "right"
            self._kills.kill(self.get_text_range(start, end), side=side)
            self.history.checkpoint()
            self._delete_via_keyboard(start, end)

    def _yank(self, text: str) -> None:
        start = self.selection.start
        self.insert_text(text)
        self._yanked = (start, self.cursor_location)

    def _yank_pop(self) -> None:
        if self._yanked is not None:
            self._delete_via_keyboard(*self._yanked)
            self._yank(self._kills.turn())

    def _line_and_column(self) -> tuple[str, int]:
        row, column = self.cursor_location
        return self.document[row], column

    def _rewrite(self, change: tuple[int, int, str] | None) -> None:
        """Replace a part of the line; the cursor goes behind it."""
        if change is not None:
            row = self.cursor_location[0]
            start, end, text = change
            self.history.checkpoint()
            self._replace_via_keyboard(text, (row, start), (row, end))

    def offset_of(self, location: Location) -> int:
        """Give a place as the number of characters before it."""
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_at(self, offset: int) -> Location:
        """Give the place that has `offset` characters before it."""
        for row, line in enumerate(self.document.lines):
            if offset <= len(line):
                return row, max(0, offset)
            offset -= len(line) + 1
        return self.document.end

    def _word_left(self) -> Location:
        row, column = self.cursor_location
        starts = [word.start() for word in _WORD.finditer(self.document[row][:column])]
        if starts:
            return row, starts[-1]
        return (row, 0) if column else self.navigator.get_location_left((row, column))

    def _word_right(self) -> Location:
        row, column = self.cursor_location
        found = _WORD.search(self.document[row], column)
        if found:
            return row, found.end()
        end = len(self.document[row])
        return (row, end) if column < end else self.navigator.get_location_right((row, column))

    def get_cursor_left_location(self) -> Location:
        """Step over one visible character."""
        row, column = self.cursor_location
        if column == 0:
            return super().get_cursor_left_location()
        return row, cluster_start(self.document[row], column)

    def get_cursor_right_location(self) -> Location:
        """Step over one visible character."""
        row, column = self.cursor_location
        line = self.document[row]
        if column >= len(line):
            return super().get_cursor_right_location()
        return row, cluster_end(line, column)


class Field(Editor):
    """A one-line or few-line field of a dialog."""

    DEFAULT_CSS = """
    Field { height: auto; max-height: 6; background: $panel; border: none; padding: 0 1; }
    Field:focus { border: none; }
    Field .text-area--placeholder { color: $muted; }
    """

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text(event.text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n"))

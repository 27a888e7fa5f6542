"""Lets vim's keys act on an editor."""

from __future__ import annotations

from textual.widgets.text_area import Selection

from agent_tui.ui.widgets.editor import Editor


class EditorPage:
    """An editor as vim sees it: a text with offsets."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    @property
    def text(self) -> str:
        return self._editor.text

    @property
    def at(self) -> int:
        return self._editor.offset_of(self._editor.cursor_location)

    def replace(self, start: int, end: int, text: str) -> None:
        """Put `text` in the place of a part; the cursor goes behind it."""
        editor = self._editor
        editor.history.checkpoint()
        editor.replace(
            text, editor.location_at(start), editor.location_at(end), maintain_selection_offset=False
        )
        editor.history.checkpoint()

    def go(self, at: int) -> None:
        """Put the cursor somewhere and drop the selection."""
        self._editor.move_cursor(self._editor.location_at(at))

    def mark(self, start: int, end: int) -> None:
        """Show a part as selected; the cursor stands at the end of it."""
        editor = self._editor
        if end < start:
            start = min(start + 1, len(editor.text))
        editor.selection = Selection(editor.location_at(start), editor.location_at(end))

"""A text field whose chips are stepped over and deleted as one."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets.text_area import Edit, EditResult, Location, Selection

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.widgets.chips import Chips
from agent_tui.ui.widgets.editor import Editor


class ChipEditor(Editor, inherit_bindings=False):
    """An editor with chips."""

    def __init__(
        self, keys: Keymap, contexts: Sequence[str], *, id: str | None = None, placeholder: str = ""
    ) -> None:
        self.chips = Chips()  # the base class sets the selection, whose watcher asks for chips
        super().__init__(keys, contexts, id=id, placeholder=placeholder)

    @property
    def expanded(self) -> str:
        """The whole text with what every chip stands for in its place."""
        return self.chips.expand(self.text)

    def get_cursor_left_location(self) -> Location:
        """Step over one visible character, or over a whole chip."""
        row, column = self.cursor_location
        for start, end in self.chips.spans(self.document[row]):
            if start < column <= end:
                return row, start
        return super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """Step over one visible character, or over a whole chip."""
        row, column = self.cursor_location
        for start, end in self.chips.spans(self.document[row]):
            if start <= column < end:
                return row, end
        return super().get_cursor_right_location()

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit; one that deletes a part of a chip takes the whole chip."""
        top, bottom = sorted((edit.from_location, edit.to_location))
        wider = self._widen(top, bottom)
        if wider != (top, bottom):
            edit = Edit(edit.text, *wider, maintain_selection_offset=False)
        return super().edit(edit)

    def _widen(self, top: Location, bottom: Location) -> tuple[Location, Location]:
        for start, end in self.chips.spans(self.document[top[0]]):
            if start < top[1] < end:
                if top == bottom:
                    return (top[0], end), (top[0], end)
                top = (top[0], start)
        for start, end in self.chips.spans(self.document[bottom[0]]):
            if top != bottom and start < bottom[1] < end:
                bottom = (bottom[0], end)
        return top, bottom

    def _watch_selection(self, previous_selection: Selection, selection: Selection) -> None:
        super()._watch_selection(previous_selection, selection)
        row, column = selection.end
        if row >= self.document.line_count:
            return
        for start, end in self.chips.spans(self.document[row]):
            if start < column < end:
                target = start if (row, column) < previous_selection.end else end
                anchor = (row, target) if selection.is_empty else selection.start
                self.selection = Selection(anchor, (row, target))

"""The prompt: history, folded pastes, a stash, and an Enter that knows a paste from a person."""

from __future__ import annotations

import re
from collections.abc import Callable

from textual import events
from textual.message import Message
from textual.timer import Timer
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.widgets.chips import Chips, folds
from agent_tui.ui.widgets.editor import Editor
from agent_tui.ui.widgets.history import PromptHistory

BURST_S = 0.002
"""Keys nearer than this come from one read of the terminal: nobody types so fast."""
HELD_ENTER_S = 0.02
"""How long an Enter at the end of a burst waits for more of it."""

_MARKER = re.compile(r"\x1b?\[20[01]~")
_LONG_HISTORY_CHARS = 4000


class Prompt(Editor, inherit_bindings=False):
    """Where the person writes. What concerns the whole program is posted as `Act`."""

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 40vh; background: transparent; border: none; padding: 0; }
    Prompt:focus { border: none; }
    """

    class Sent(Message):
        """The person sent a text; chips are expanded in `text`, `after_turn` asks to wait for the turn's end."""

        def __init__(self, text: str, *, after_turn: bool) -> None:
            super().__init__()
            self.text = text
            self.after_turn = after_turn

    def __init__(self, keys: Keymap, *, id: str | None = None) -> None:
        self.chips = Chips()  # the base class sets the selection, whose watcher asks for chips
        super().__init__(
            keys,
            ("prompt", "edit", "global"),
            id=id,
            placeholder="Ask anything  ·  / commands  ·  @ files  ·  ? keys",
        )
        self.past = PromptHistory()
        self.busy = False
        self.has_queue = False
        self.popup: Callable[[str], bool] | None = None
        self._stash = ""
        self._last_key = 0.0
        self._in_burst = False
        self._burst_lines = 0
        self._held: Timer | None = None
        self._edits |= {
            "submit": self._submit,
            "after_turn": self._after_turn,
            "complete": self._complete,
            "up": self._up,
            "down": self._down,
            "previous": lambda: self._show(self.past.back(self.expanded)),
            "next": lambda: self._show(self.past.forward()),
            "stash": self._swap_stash,
        }

    @property
    def expanded(self) -> str:
        """The whole text with every folded paste in its place."""
        return self.chips.expand(self.text)

    def clear_to_history(self) -> None:
        """Empty the prompt; what stood there can be had back with Up."""
        if text := self.expanded:
            self.past.add(text)
        self.load_text("")

    async def _on_key(self, event: events.Key) -> None:
        self._note_time(event)
        await super()._on_key(event)

    def _note_time(self, event: events.Key) -> None:
        self._in_burst = event.time - self._last_key <= BURST_S
        self._last_key = event.time
        if not self._in_burst:
            self._burst_lines = 0
            self._let_go()
        elif self._held is not None:
            self._held.stop()
            self._held = None
            self._burst_lines += 1
            self.insert_text("\n")

    def _let_go(self) -> None:
        """Send for a held Enter: what comes now belongs to the next text."""
        if self._held is not None:
            self._held.stop()
            self._release_enter()

    def wants(self, action: str) -> bool:
        """Leave `?` to be typed once there is text."""
        return action != "sheet" or not self.text

    def perform(self, action: str, event: events.Key) -> None:
        """Let an open completion list have the action, then do it."""
        if self.popup is not None and self.popup(action):
            return
        if action == "newline" and self._in_burst:
            self._burst_lines += 1
        if action == "submit" and self._in_burst and event.key == "enter":
            self._enter_in_burst()
        elif self._is_for_app(action):
            self.post_message(self.Act(self, action))
        else:
            super().perform(action, event)

    def _is_for_app(self, action: str) -> bool:
        if action in ("previous", "kill_line"):
            return not self.text
        return action == "up" and not self.text and self.has_queue

    def _enter_in_burst(self) -> None:
        # A terminal without bracketed paste sends a paste as keys: an Enter inside it is a line break, an Enter
        # at the very end of one line is a person's (or a script's) "send".
        if self._burst_lines:
            self._burst_lines += 1
            self.insert_text("\n")
            return
        self._held = self.set_timer(HELD_ENTER_S, self._release_enter)

    def _release_enter(self) -> None:
        self._held = None
        self._submit()

    def _submit(self) -> None:
        row, column = self.cursor_location
        if column and self.document[row][column - 1] == "\\":
            self._delete_via_keyboard((row, column - 1), (row, column))
            self.insert_text("\n")
            return
        self._send(after_turn=False)

    def _after_turn(self) -> None:
        if self.busy and self.text.strip():
            self._send(after_turn=True)
        else:
            self.insert_text("\n")

    def _complete(self) -> None:
        if self.busy and self.text.strip():
            self._send(after_turn=True)

    def _send(self, *, after_turn: bool) -> None:
        text = self.expanded
        if not text.strip():
            self.post_message(self.Act(self, "submit_empty"))
            return
        self.past.add(text)
        self.load_text("")
        self.post_message(self.Sent(text, after_turn=after_turn))

    def _up(self) -> None:
        if self.cursor_at_first_line:
            self._show(self.past.back(self.expanded))
        else:
            self.action_cursor_up()

    def _down(self) -> None:
        if self.cursor_at_last_line:
            self._show(self.past.forward())
        else:
            self.action_cursor_down()

    def _show(self, text: str | None) -> None:
        if text is not None:
            self.put(self.chips.fold(text) if len(text) > _LONG_HISTORY_CHARS else text)

    def _swap_stash(self) -> None:
        text, self._stash = self._stash, self.text
        if text or self._stash:
            self.put(text)
        self.post_message(self.Act(self, "stashed" if self._stash else "unstashed"))

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

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._let_go()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert a paste: line ends are made one kind, a long one is folded into a chip."""
        text = _MARKER.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
        self.insert_text(self.chips.fold(text) if folds(text) else self.chips.defuse(text))

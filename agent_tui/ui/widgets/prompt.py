"""The prompt: history, pastes and images as chips, a stash, vim's modes, and an Enter that knows a paste from a person."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from textual import events
from textual.message import Message
from textual.timer import Timer

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.typed_run import BURST_S, TypedRun
from agent_tui.ui.widgets.chip_editor import ChipEditor
from agent_tui.ui.widgets.chips import folds
from agent_tui.ui.widgets.history import PromptHistory

if TYPE_CHECKING:
    from agent_tui.ui.vim.keys import VimKeys

HELD_ENTER_S = 0.02
"""How long an Enter at the end of a burst waits for more of it."""

_MARKER = re.compile(r"\x1b?\[20[01]~")
_IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_LONG_HISTORY_CHARS = 4000


class Prompt(ChipEditor, inherit_bindings=False):
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

    class PathPasted(Message):
        """One line was pasted that names an image file; `pasted` is the text as it came."""

        def __init__(self, path: str, pasted: str) -> None:
            super().__init__()
            self.path = path
            self.pasted = pasted

    class ModeShown(Message):
        """The mode of vim's keys changed; "" when they are off."""

        def __init__(self, label: str) -> None:
            super().__init__()
            self.label = label

    def __init__(self, keys: Keymap, *, id: str | None = None) -> None:
        super().__init__(keys, ("prompt", "edit", "global"), id=id)
        self.vim: VimKeys | None = None
        self._mode = ""
        self.keys_changed()
        self.past = PromptHistory()
        self.busy = False
        self.has_queue = False
        self.popup: Callable[[str], bool] | None = None
        self._stash = ""
        self._returned = ""
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
            "previous": lambda: self._show(self.past.back(self.text)),
            "next": lambda: self._show(self.past.forward()),
            "stash": self._swap_stash,
        }

    def keys_changed(self) -> None:
        """Look at the keymap again: its preset decides about vim's modes, its keys stand in the placeholder."""
        if self.keys.preset != "vim":
            self.vim = None
        elif self.vim is None:
            from agent_tui.ui.vim.keys import VimKeys  # only for those who want it
            from agent_tui.ui.widgets.vim_page import EditorPage

            self.vim = VimKeys(self.keys, EditorPage(self), ("prompt", "edit", "global"))
        sheet = self.keys.hint("prompt", "sheet")
        parts = ["Ask anything", "/ commands", "@ files", *([f"{sheet} keys"] if sheet else [])]
        self.placeholder = "  ·  ".join(parts)
        self._show_mode()

    def _show_mode(self) -> None:
        label = self.vim.label if self.vim is not None else ""
        if label != self._mode:
            self._mode = label
            self.post_message(self.ModeShown(label))

    def put(self, text: str) -> None:
        """Replace the text, ready for writing at its end; one that was sent before has its chips again."""
        super().put(self.chips.recall(text))
        self._begin_vim()

    def give_back(self, text: str) -> str:
        """Put words back that were not sent, behind others that came back; give a sentence about it.

        What is being written stays as it is. Whoever types on without a look would write behind words that came back.
        """
        if self.expanded not in ("", self._returned):
            key = self.keys.hint("prompt", "previous")
            return f"Your message was not put over what you write{f'; {key} brings it' if key else ''}"
        self._returned = "\n".join(filter(None, (self.expanded, text)))
        self.put(self._returned)
        key = self.keys.hint("edit", "kill_to_start")
        if "\n" in self._returned:  # that key takes one line only, and this one stops what runs
            key = "" if self.busy else self.keys.hint("global", "interrupt")
        return f"Your message is back in the input{f'; {key} clears it' if key else ''}"

    def _begin_vim(self) -> None:
        if self.vim is not None:
            self.vim.engine.begin()
            self._show_mode()

    def attach_image(self, name: str) -> None:
        """Insert a chip that stands for the image the core keeps as `name`."""
        self.insert_text(self.chips.image(name))

    def clear_to_history(self) -> None:
        """Empty the prompt; what stood there can be had back with Up."""
        if self.text:
            self.past.add(self.chips.send(self.text))
        self.load_text("")

    async def _on_key(self, event: events.Key) -> None:
        self._note_time(event)
        if self.vim is not None and self._vim_takes(self.vim, event):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)
        self._show_mode()

    def _vim_takes(self, vim: VimKeys, event: events.Key) -> bool:
        taken = vim.press(event.key, event.character)
        if taken.action and self.wants(taken.action):
            keeps_mode = taken.action in ("up", "down", "previous", "next")
            self.perform(taken.action, event)
            if keeps_mode and vim.engine.mode == "insert":
                vim.engine.escape()
            return True
        return taken.done or bool(taken.action)

    def _note_time(self, event: events.Key | TypedRun) -> None:
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
        if action == "escape" and self.vim is not None and self.vim.engine.mode == "insert":
            self.vim.engine.escape()
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
        if action == "yank":
            return bool(self.screen.selections)
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
        text = self.chips.send(self.text)
        if not text.strip():
            self.post_message(self.Act(self, "submit_empty"))
            return
        self.past.add(text)
        self.load_text("")
        self._begin_vim()
        self.post_message(self.Sent(text, after_turn=after_turn))

    def _up(self) -> None:
        if self.cursor_at_first_line:
            self._show(self.past.back(self.text))
        else:
            self.action_cursor_up()

    def _down(self) -> None:
        if self.cursor_at_last_line:
            self._show(self.past.forward())
        else:
            self.action_cursor_down()

    def _show(self, text: str | None) -> None:
        if text is not None:
            written = self.chips.recall(text)
            self.put(self.chips.fold(text) if len(written) > _LONG_HISTORY_CHARS else text)

    def _swap_stash(self) -> None:
        text, self._stash = self._stash, self.text
        if text or self._stash:
            self.put(text)
        self.post_message(self.Act(self, "stashed" if self._stash else "unstashed"))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if isinstance(event, TypedRun):
            self._run_comes(event)
        else:
            self._let_go()
            self.paste(event.text)

    def _run_comes(self, run: TypedRun) -> None:
        self._note_time(run)
        self._last_key = run.ended_at
        if run.text:
            self._burst_lines += len(run.text.splitlines()) - 1
            self.paste(run.text)

    def paste(self, text: str) -> None:
        """Insert a paste: line ends are made one kind, a long one is folded into a chip.

        The path of an image asks for the image; a paste without text does too, as terminals send it for an image.
        """
        text = _MARKER.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
        if not text:
            self.post_message(self.Act(self, "paste_image"))
        elif path := image_path(text):
            self.post_message(self.PathPasted(path, text))
        else:
            self.insert_paste(text)

    def insert_paste(self, text: str) -> None:
        """Insert a text as it was pasted."""
        self.insert_text(self.chips.fold(text) if folds(text) else self.chips.defuse(text))


def image_path(text: str) -> str:
    """Give the path when a paste is nothing but the name of an image file, as terminals and file managers write it."""
    line = text.strip()
    if "\n" in line or not line.lower().rstrip("'\"").endswith(_IMAGE_ENDINGS):
        return ""
    if line.startswith("file://"):
        try:
            return unquote(urlsplit(line).path)
        except ValueError:  # half an address in brackets
            return ""
    if line[:1] in "'\"" and line[-1:] == line[:1]:
        line = line[1:-1]
    else:
        line = re.sub(r"\\(.)", r"\1", line)
    return line if line.startswith(("/", "~/", "./", "../")) else ""

"""Takes key presses for vim: what the mode means by them, through the keymap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.vim.engine import Vim
from agent_tui.ui.vim.state import Mode, Page

MODE_WORDS: dict[Mode, str] = {
    "insert": "INSERT",
    "normal": "NORMAL",
    "visual": "VISUAL",
    "visual line": "V-LINE",
}
"""How the modes are called in the status line."""


@dataclass(frozen=True)
class Taken:
    """What became of a press: done here, or an `action` of the prompt to be done instead."""

    done: bool
    action: str = ""


class VimKeys:
    """Vim in front of an editor. In insert mode only Esc is taken, all else is the editor's.

    `contexts` are those of the editor: keys that vim does not know, such as Enter, keep their meaning.
    """

    def __init__(self, keys: Keymap, page: Page, contexts: Sequence[str]) -> None:
        self.keys = keys
        self._page = page
        self._contexts = tuple(contexts)
        self.engine = Vim(page)

    @property
    def label(self) -> str:
        """The mode as the status line shows it, with what was begun."""
        word = MODE_WORDS[self.engine.mode]
        return f"{word} {self.engine.hint}".strip()

    def press(self, key: str, character: str | None) -> Taken:
        """Take a press."""
        engine = self.engine
        if engine.mode == "insert":
            return Taken(False)
        if engine.raw and character is not None and (character.isprintable() or key == "enter"):
            engine.take("", "\n" if key == "enter" else character)
            return Taken(True)
        if not self.keys.pending and _counts(character, counting=engine.counting):
            engine.take("digit", character or "")
            return Taken(True)
        press = self.keys.press(("vim", *self._contexts), key, character)
        if press.pending:
            return Taken(True)
        if press.context != "vim":
            return Taken(character is not None and character.isprintable(), press.action)
        return self._act(press.action, character or "")

    def _act(self, action: str, character: str) -> Taken:
        engine = self.engine
        if action == "leave":
            return Taken(True) if engine.escape() else Taken(False, "escape")
        if action == "command":
            if self._page.text:
                return Taken(True)
            engine.take("insert")
            self._page.replace(0, 0, character)
            return Taken(True)
        outer = engine.take(action)
        return Taken(True, outer)


def _counts(character: str | None, *, counting: bool) -> bool:
    """Tell whether a character is a digit of a count; a 0 that begins none is the start of the line."""
    return character is not None and character in (*"123456789", "0" if counting else "1")

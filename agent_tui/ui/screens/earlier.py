"""Finds an earlier prompt: of this session, of this project, or of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.content import Content

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.screens.picker import Choice, Picker


class EarlierPrompts(Picker):
    """A list of prompts, the newest first. Gives the text that was chosen; a key goes to the next scope."""

    def __init__(self, keys: Keymap, scopes: Mapping[str, Sequence[str]]) -> None:
        self._scopes = {name: _choices(texts) for name, texts in scopes.items()}
        self._scope = next(iter(scopes))
        super().__init__(keys, "Earlier prompts", self._scopes[self._scope], empty="No earlier prompts here.")

    def compose(self) -> ComposeResult:
        """Lay out search line and list; the frame says the scope."""
        with Frame(self.keys) as frame:
            self._frame = frame
            self._say_scope()
            yield from self.parts()

    def _say_scope(self) -> None:
        self._frame.border_title = Content(f"Earlier prompts · {self._scope}")
        names = list(self._scopes)
        following = names[(names.index(self._scope) + 1) % len(names)]
        self._frame.legend = self.keys.legend(
            ("list", "choose", "takes"), ("list", "scope", following), ("list", "cancel", "closes")
        )

    def act(self, action: str) -> None:
        """Go to the next scope, or do what every list does."""
        if action != "scope":
            super().act(action)
            return
        names = list(self._scopes)
        self._scope = names[(names.index(self._scope) + 1) % len(names)]
        self.replace(self._scopes[self._scope])
        self._say_scope()


def _choices(texts: Sequence[str]) -> list[Choice]:
    newest = dict.fromkeys(reversed(texts))
    return [Choice(text, " ".join(text.split())) for text in newest]

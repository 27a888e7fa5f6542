"""Earlier prompts, walked with Up and Down; the draft waits at the end."""

from __future__ import annotations

from collections.abc import Sequence

LIMIT = 1000


class PromptHistory:
    """A walk over earlier prompts. Consecutive repeats are kept once."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._entries: list[str] = []
        self._added: list[str] = []
        self._at = 0
        self._draft = ""
        self.load(entries)

    @property
    def entries(self) -> Sequence[str]:
        """The prompts, oldest first."""
        return self._entries

    @property
    def of_this_run(self) -> Sequence[str]:
        """The prompts that were added since the program began, oldest first."""
        return self._added

    @property
    def browsing(self) -> bool:
        """Whether an earlier prompt is shown now."""
        return self._at < len(self._entries)

    def load(self, entries: Sequence[str]) -> None:
        """Put earlier sessions' prompts before what was added already."""
        mine = self._entries
        self._entries = []
        for entry in [*entries, *mine]:
            if entry and (not self._entries or self._entries[-1] != entry):
                self._entries.append(entry)
        self._entries = self._entries[-LIMIT:]
        self._at = len(self._entries)

    def add(self, text: str) -> None:
        """Remember a sent prompt and go back to the end."""
        if text and (not self._entries or self._entries[-1] != text):
            self._entries.append(text)
            self._added.append(text)
        self._at = len(self._entries)
        self._draft = ""

    def back(self, current: str) -> str | None:
        """Give the prompt before, keeping `current` as the draft; None at the oldest."""
        if self._at == 0:
            return None
        if not self.browsing:
            self._draft = current
        self._at -= 1
        return self._entries[self._at]

    def forward(self) -> str | None:
        """Give the prompt after, at the end the draft; None when the draft is shown already."""
        if not self.browsing:
            return None
        self._at += 1
        return self._entries[self._at] if self.browsing else self._draft

    def leave(self) -> None:
        """Go back to the end; what is shown now becomes the draft."""
        self._at = len(self._entries)

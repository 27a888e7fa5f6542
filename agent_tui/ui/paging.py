"""Leaves the texts of blocks that this run wrote in the session's file, once they are far above the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.transcript.document import Document
    from agent_tui.ui.transcript.view import Transcript

MANY_TEXTS = 200
"""So many texts are worth a look into the file, 20 ms in a thread."""


class OldTexts:
    """A text is let go when the file has the very same one; what was written otherwise (masked, joined) stays."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._kept = 0
        self._generation = 0

    def are_many(self) -> bool:
        """Tell whether enough texts became old since the last time."""
        if self._generation != self._document.generation:
            self._generation, self._kept = self._document.generation, 0
        return len(self._document.old_texts()) - self._kept >= MANY_TEXTS

    async def leave(self, backend: Backend) -> None:
        """Let go of the old texts that the session's file has."""
        document, generation = self._document, self._document.generation
        since = max((block.data.stored.end for block in document.blocks if block.data.stored), default=0)
        places = await backend.texts_since(since)
        if document.generation != generation:
            return
        self._kept = 0
        for index in document.old_texts():
            data = document.blocks[index].data
            place = places.get((data.kind, data.text))
            if place is None:
                self._kept += 1
            else:
                document.leave_on_disk(index, place)


class Replies(Sequence[str]):
    """The replies of the conversation as they came, oldest first; read when they are asked for."""

    def __init__(self, view: Transcript) -> None:
        self._view = view
        self._at = [at for at, b in enumerate(view.document.blocks) if b.data.kind == "assistant"]

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._view.source(at) for at in self._at[index]]
        return self._view.source(self._at[index])

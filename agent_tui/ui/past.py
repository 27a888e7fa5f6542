"""What the interface needs in order to go back in a session, look at its changes, and copy it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_tui.ui.changes import Changes, ChangeView


@dataclass(frozen=True)
class PointView:
    """A prompt one can go back to. `at` is POSIX seconds, `depth` counts the prompts above it in the tree,
    `active` says that it is on the path the conversation is on."""

    entry_id: str
    title: str
    at: float
    depth: int
    active: bool
    label: str = ""


@dataclass(frozen=True)
class MoveView:
    """What a move came to. `said` is a sentence; `prompt` the text of the prompt that was taken back; `conversation`
    says that the conversation is another one now."""

    said: str
    conversation: bool
    prompt: str = ""


class Past(Protocol):
    """The way back of the open session. All methods but `points` may raise AgentTuiError; then nothing was moved."""

    @property
    def changes(self) -> Changes:
        """What changed in the files."""
        ...

    async def points(self) -> Sequence[PointView]:
        """List the prompts of all branches, in the order they were said."""
        ...

    async def uncovered(self) -> Sequence[str]:
        """List the files that no checkpoint of this session covers."""
        ...

    async def preview(self, entry_id: str) -> Sequence[ChangeView]:
        """Say what going back to before a prompt would do to the files."""
        ...

    async def preview_redo(self) -> Sequence[ChangeView] | None:
        """Say what `redo` would do to the files; None when nothing is undone."""
        ...

    async def rewind(
        self, entry_id: str, *, conversation: bool = True, files: bool = True, allowed: Collection[str] = ()
    ) -> MoveView:
        """Go back to before a prompt. Conflicts are left as they are unless in `allowed`."""
        ...

    async def redo(self, *, allowed: Collection[str] = ()) -> MoveView | None:
        """Bring back what the last undo took; None when there is nothing."""
        ...

    async def go_to(self, entry_id: str) -> MoveView:
        """Make the branch that goes on from a prompt the conversation; files stay."""
        ...

    async def label(self, entry_id: str, label: str) -> None:
        """Name a prompt in the tree; "" takes the name away."""
        ...

    async def fork(self, entry_id: str = "") -> str:
        """Copy the session, whole or up to before a prompt; give the id of the copy, which is not opened."""
        ...

    async def export(self, kind: str, path: str) -> str:
        """Write the session as md, html or json, to `path` or a name of its own in the workspace; give a sentence."""
        ...

    async def export_picture(self, kind: str, path: str, svg: str) -> str:
        """Write a picture of the screen as svg or png, as `export` does; give a sentence."""
        ...

    async def excerpt(self, session_id: str) -> str:
        """Give the last words of a stored session, as plain text."""
        ...

    async def rename(self, session_id: str, name: str) -> None:
        """Name a stored session, also the open one."""
        ...

    async def search(self, text: str) -> Sequence[str]:
        """Give the ids of the stored sessions that hold all words of `text`, the best first."""
        ...

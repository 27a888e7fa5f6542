"""Goes back and forth in a session: its conversation, its files, or both. Nothing is ever deleted."""

from collections.abc import Collection
from dataclasses import dataclass

from agent_tui.agent.checkpoints import Checkpoints, FileChange, PutBack
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.sessions.session import Session
from agent_tui.sessions.tree import (
    REDO,
    UNDO,
    TreePoint,
    doubtful_files,
    files_at,
    files_before,
    last_files,
    points,
    redo_target,
    undo_target,
)

RESTORED = "restored"


@dataclass(frozen=True)
class Rewound:
    """What a move came to. `files` is None when no file had to change; the conversation is to be read anew
    (`Session.messages`) when `conversation` is true."""

    files: PutBack | None
    conversation: bool


class Rewind:
    """Moves one session about. `checkpoints` None moves the conversation only."""

    def __init__(self, session: Session, checkpoints: Checkpoints | None) -> None:
        self._session = session
        self._checkpoints = checkpoints

    def points(self) -> list[TreePoint]:
        """List the prompts one can go back to, in the order of the file."""
        return points(self._session.records())

    async def preview(self, entry_id: str) -> list[FileChange]:
        """Say what going back to before the prompt `entry_id` would do to the files. Raises AgentTuiError."""
        records = self._session.records()
        tree = files_before(records, entry_id)
        if self._checkpoints is None or tree is None:
            return []
        return await self._checkpoints.plan(
            tree, last=last_files(records), doubtful=doubtful_files(records, entry_id)
        )

    async def preview_redo(self) -> list[FileChange] | None:
        """Say what `redo` would do to the files; None when there is nothing to redo. Raises AgentTuiError."""
        records = self._session.records()
        target = redo_target(records)
        if target is None:
            return None
        tree = files_at(records, target)
        if self._checkpoints is None or tree is None:
            return []
        return await self._checkpoints.plan(tree, last=last_files(records))

    async def to(
        self,
        entry_id: str,
        *,
        conversation: bool = True,
        files: bool = True,
        allowed: Collection[str] = (),
    ) -> Rewound:
        """Go back to before the prompt `entry_id`. Files that the person changed since stay, unless in `allowed`.

        Raises AgentTuiError; then nothing was moved.
        """
        records = self._session.records()
        point = next((p for p in points(records) if p.entry_id == entry_id), None)
        if point is None:
            raise AgentTuiError(f"There is no prompt {entry_id!r} in this session.")
        tree = files_before(records, entry_id) if files else None
        doubtful = doubtful_files(records, entry_id)
        return await self._move(point.before if conversation else None, tree, allowed, UNDO, doubtful)

    async def undo(self, *, allowed: Collection[str] = ()) -> Rewound | None:
        """Take back the last prompt with what it did to the files; None when there is none."""
        records = self._session.records()
        before = undo_target(records)
        if before is None:
            return None
        prompt = next(p for p in reversed(points(records)) if p.active)
        doubtful = doubtful_files(records, prompt.entry_id)
        return await self._move(before, files_before(records, prompt.entry_id), allowed, UNDO, doubtful)

    async def redo(self, *, allowed: Collection[str] = ()) -> Rewound | None:
        """Bring back what the last undo took; None when there is nothing."""
        records = self._session.records()
        target = redo_target(records)
        if target is None:
            return None
        return await self._move(target, files_at(records, target), allowed, REDO)

    async def _move(
        self,
        entry_id: str | None,
        tree: str | None,
        allowed: Collection[str],
        why: str,
        doubtful: Collection[str] = (),
    ) -> Rewound:
        done: PutBack | None = None
        if tree is not None and self._checkpoints is not None:
            last = last_files(self._session.records())
            done = await self._checkpoints.put_back(tree, last=last, allowed=allowed, doubtful=doubtful)
        if entry_id is not None:
            await self._session.move_to(entry_id, why=why)
        if done is not None:
            await self._session.checkpoint({"tree": done.tree, "label": RESTORED, "changed": [*done.changed]})
        return Rewound(done, entry_id is not None)

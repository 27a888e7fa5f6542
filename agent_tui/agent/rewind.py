"""Goes back and forth in a session: its conversation, its files, or both. Nothing is ever deleted."""

import asyncio
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from agent_tui.agent.checkpoints import Checkpoints, FileChange, PutBack
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.sessions.frames import RawRecord
from agent_tui.sessions.session import Session
from agent_tui.sessions.tree import (
    REDO,
    RESTORED,
    UNDO,
    TreePoint,
    by_hand_before,
    doubtful_files,
    files_after,
    files_at,
    files_before,
    files_left,
    last_files,
    points,
    redo_target,
    undo_target,
)


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
        records = await self._records()
        tree = files_before(records, entry_id)
        if self._checkpoints is None or tree is None:
            return []
        return await self._checkpoints.plan(
            tree,
            last=last_files(records),
            doubtful=doubtful_files(records, entry_id),
            later=files_after(records, entry_id),
        )

    async def preview_redo(self) -> list[FileChange] | None:
        """Say what `redo` would do to the files; None when there is nothing to redo. Raises AgentTuiError."""
        records = await self._records()
        target = redo_target(records)
        if target is None:
            return None
        tree = files_at(records, target)
        if self._checkpoints is None or tree is None:
            return []
        return await self._checkpoints.plan(tree, last=last_files(records), doubtful=files_left(records))

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
        records = await self._records()
        point = next((p for p in points(records) if p.entry_id == entry_id), None)
        if point is None:
            raise AgentTuiError(f"There is no prompt {entry_id!r} in this session.")
        return await self._back(
            records, entry_id, point.before if conversation else None, files=files, allowed=allowed
        )

    async def undo(self, *, allowed: Collection[str] = ()) -> Rewound | None:
        """Take back the last prompt with what it did to the files; None when there is none."""
        records = await self._records()
        before = undo_target(records)
        if before is None:
            return None
        prompt = next(p for p in reversed(points(records)) if p.active)
        return await self._back(records, prompt.entry_id, before, files=True, allowed=allowed)

    async def redo(self, *, allowed: Collection[str] = ()) -> Rewound | None:
        """Bring back what the last undo took; None when there is nothing."""
        records = await self._records()
        target = redo_target(records)
        if target is None:
            return None
        move = _Move(target, files_at(records, target), REDO, doubtful=files_left(records))
        return await self._move(move, allowed)

    async def _records(self) -> Sequence[RawRecord]:
        return await asyncio.to_thread(self._session.records)

    async def _back(
        self,
        records: Sequence[RawRecord],
        entry_id: str,
        before: str | None,
        *,
        files: bool,
        allowed: Collection[str],
    ) -> Rewound:
        move = _Move(
            before,
            files_before(records, entry_id) if files else None,
            UNDO,
            doubtful=doubtful_files(records, entry_id),
            by_hand=by_hand_before(records, entry_id) if files else frozenset(),
            later=files_after(records, entry_id),
        )
        return await self._move(move, allowed)

    async def _move(self, move: "_Move", allowed: Collection[str]) -> Rewound:
        done: PutBack | None = None
        if move.tree is not None and self._checkpoints is not None:
            last = last_files(await self._records())
            done = await self._checkpoints.put_back(
                move.tree, last=last, allowed=allowed, doubtful=move.doubtful, later=move.later
            )
        if move.entry_id is not None:
            await self._session.move_to(move.entry_id, why=move.why)
        if done is not None:
            left = move.by_hand | {path for path, _ in done.left}
            await self._session.checkpoint(
                {"tree": done.tree, "label": RESTORED, "changed": [*done.changed], "left": [*sorted(left)]}
            )
        return Rewound(done, move.entry_id is not None)


@dataclass(frozen=True)
class _Move:
    """Where to go: the entry (None: stay), the tree of the files (None: stay), and why.

    `doubtful` are paths that may be the person's now, `by_hand` those that are the person's once the move is done.
    `later` are the trees after `tree`.
    """

    entry_id: str | None
    tree: str | None
    why: str
    doubtful: AbstractSet[str] = frozenset()
    by_hand: AbstractSet[str] = frozenset()
    later: Sequence[str] = ()

"""The way back of an open session: rewind, undo and redo, forks, diffs and exports for the interface."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from agent_tui.agent.checkpoints import Checkpoints, FileChange
from agent_tui.agent.rewind import Rewind, Rewound
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.sessions.export import to_html, to_markdown
from agent_tui.sessions.frames import Frames, RawRecord, active_path, dumps, text_of
from agent_tui.sessions.info import info_of
from agent_tui.sessions.replay import blocks_of
from agent_tui.sessions.store import Session, SessionStore
from agent_tui.sessions.tree import RESTORED, TreePoint, branch_end, files_before, first_files, last_files
from agent_tui.toolkit.diffing import changes
from agent_tui.toolkit.encoding import detect
from agent_tui.toolkit.git_diff import Side, file_diff
from agent_tui.toolkit.lines import split_lines
from agent_tui.ui.past import ChangeView, MoveView, PointView, Scope

_EXCERPT_CHARS = 600
_EXCERPT_BLOCKS = 6
_FORMATS = ("md", "html", "json")
NOTHING_KEPT = "Nothing of this session has changed a file yet."


class Opened(Protocol):
    """What the way back needs of an open session."""

    @property
    def record(self) -> Session: ...

    @property
    def checkpoints(self) -> Checkpoints | None: ...


class SessionPast:
    """Implements `ui.past.Past` for whatever session is open; `reload` makes the agent read its conversation anew."""

    def __init__(
        self,
        *,
        workspace: Path,
        store: SessionStore,
        opened: Callable[[], Opened],
        reload: Callable[[str], Awaitable[None]],
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._opened = opened
        self._reload = reload

    async def points(self) -> Sequence[PointView]:
        found = await asyncio.to_thread(self._rewind().points)
        return [PointView(p.entry_id, p.title, p.at, p.depth, p.active, p.label) for p in found]

    async def uncovered(self) -> Sequence[str]:
        names: dict[str, None] = {}
        for record in await self._records():
            listed = record.get("uncovered") if record.get("type") == "checkpoint" else None
            if isinstance(listed, list):
                names.update(dict.fromkeys(name for name in listed if isinstance(name, str)))
        return list(names)

    async def preview(self, entry_id: str) -> Sequence[ChangeView]:
        return await _views(await self._rewind().preview(entry_id))

    async def preview_redo(self) -> Sequence[ChangeView] | None:
        plan = await self._rewind().preview_redo()
        return None if plan is None else await _views(plan)

    async def rewind(
        self, entry_id: str, *, conversation: bool = True, files: bool = True, allowed: Collection[str] = ()
    ) -> MoveView:
        prompt = next(
            (text_of(r, "text") for r in await self._records() if r.get("id") == entry_id),
            "",
        )
        done = await self._rewind().to(entry_id, conversation=conversation, files=files, allowed=allowed)
        return await self._moved(done, prompt)

    async def redo(self, *, allowed: Collection[str] = ()) -> MoveView | None:
        done = await self._rewind().redo(allowed=allowed)
        return None if done is None else await self._moved(done, "")

    async def go_to(self, entry_id: str) -> MoveView:
        end = branch_end(await self._records(), entry_id)
        await self._opened().record.move_to(end)
        return await self._moved(Rewound(None, conversation=True), "")

    async def label(self, entry_id: str, label: str) -> None:
        await self._opened().record.label(entry_id, label)

    async def fork(self, entry_id: str = "") -> str:
        point = self._point(entry_id) if entry_id else None
        record = self._opened().record
        path = active_path(await self._records(), point.before if point else None)
        if not path:
            raise AgentTuiError("There is nothing to copy yet.")
        name = f"{record.name} (copy)" if record.name else ""
        try:
            return await asyncio.to_thread(
                lambda: self._store.write_whole(self._workspace, path, name=name, origin=record.id)
            )
        except OSError as error:
            raise AgentTuiError(f"The copy cannot be written: {error.strerror or error}") from error

    async def changes(self, scope: Scope) -> Sequence[ChangeView]:
        checkpoints = self._checkpoints()
        then = await self._tree(scope)
        now = await checkpoints.take()
        return await _views(await checkpoints.compare(then, now.tree))

    async def put_back(self, scope: Scope, path: str) -> str:
        checkpoints = self._checkpoints()
        then = await self._tree(scope)
        done = await checkpoints.put_back(then, allowed=[path], only=[path])
        if done.left:
            return f"{path} stays as it is: {done.left[0][1]}."
        await self._opened().record.checkpoint(
            {"tree": done.tree, "label": RESTORED, "changed": [*done.changed]}
        )
        await self._reload(f"The person put {path} back to what it was before this {scope}.")
        return f"{path} is as it was before this {scope}." if done.changed else f"{path} did not differ."

    async def export(self, kind: str, path: str) -> str:
        chosen = (kind or "md").lower().replace("markdown", "md").replace("jsonl", "json")
        if chosen not in _FORMATS:
            raise AgentTuiError(f"There is no format {kind!r}. Formats: {', '.join(_FORMATS)}.")
        record = self._opened().record
        suffix = "jsonl" if chosen == "json" else chosen
        target = Path(path).expanduser() if path else Path(f"session-{record.id[:8]}.{suffix}")
        target = target if target.is_absolute() else self._workspace / target
        try:
            await asyncio.to_thread(self._export, record, chosen, target, bool(path))
        except OSError as error:
            raise AgentTuiError(f"{target} cannot be written: {error.strerror or error}") from error
        return f"Written to {target}"

    async def excerpt(self, session_id: str) -> str:
        return await asyncio.to_thread(self._excerpt, session_id)

    async def search(self, text: str) -> Sequence[str]:
        found = await asyncio.to_thread(self._store.search, text)
        return [hit.info.session_id for hit in found]

    def _rewind(self) -> Rewind:
        opened = self._opened()
        return Rewind(opened.record, opened.checkpoints)

    def _checkpoints(self) -> Checkpoints:
        checkpoints = self._opened().checkpoints
        if checkpoints is None:
            raise AgentTuiError("This session keeps no checkpoints.")
        return checkpoints

    async def _records(self) -> Sequence[RawRecord]:
        return await asyncio.to_thread(self._opened().record.records)

    def _point(self, entry_id: str) -> TreePoint:
        point = next((p for p in self._rewind().points() if p.entry_id == entry_id), None)
        if point is None:
            raise AgentTuiError(f"There is no prompt {entry_id!r} in this session.")
        return point

    async def _tree(self, scope: Scope) -> str:
        """Give the tree of the files before the last turn, or before the first change of the session."""
        records = await self._records()
        if scope == "session":
            tree = first_files(records)
        else:
            last = next((p for p in reversed(self._rewind().points()) if p.active), None)
            tree = files_before(records, last.entry_id) if last else None
            tree = tree or last_files(records)
        if not tree:
            raise AgentTuiError(NOTHING_KEPT)
        return tree

    async def _moved(self, done: Rewound, prompt: str) -> MoveView:
        files = done.files
        parts: list[str] = []
        if done.conversation:
            parts.append("The conversation went back." if prompt else "The conversation is another one now.")
        if files is not None:
            count = len(files.changed)
            parts.append(f"{count} file{'' if count == 1 else 's'} changed.")
            if files.left:
                left = "; ".join(f"{path} ({why})" for path, why in files.left[:8])
                parts.append(f"Left as they are: {left}{' ...' if len(files.left) > 8 else ''}.")
        note = (
            "The person put files back to an earlier state; read them again before you change them."
            if files is not None and files.changed
            else ""
        )
        await self._reload(note)
        return MoveView(
            " ".join(parts) or "Nothing had to change.",
            conversation=done.conversation,
            prompt=prompt if done.conversation else "",
        )

    def _export(self, record: Session, kind: str, target: Path, overwrite: bool) -> None:
        records = record.records()
        if not records:
            raise AgentTuiError("This session holds nothing to write yet.")
        info = info_of(Frames(records), Path(f"{record.id}.jsonl"), changed_at=time.time())
        if kind == "json":
            text = "".join(f"{dumps(entry)}\n" for entry in records)
        else:
            text = (to_html if kind == "html" else to_markdown)(info, record.replay())
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if overwrite else os.O_EXCL)
        with os.fdopen(os.open(target, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
            file.write(text)

    def _excerpt(self, session_id: str) -> str:
        path = active_path(self._store.read(session_id).records)
        blocks = [b for b in blocks_of(path, self._store.blobs) if b.kind in ("user", "assistant")]
        lines = [
            f"{'›' if block.kind == 'user' else ' '} {' '.join(block.text.split())[:_EXCERPT_CHARS]}"
            for block in blocks[-_EXCERPT_BLOCKS:]
        ]
        return "\n".join(lines)


async def _views(found: Sequence[FileChange]) -> list[ChangeView]:
    return await asyncio.to_thread(lambda: [_view(change) for change in found])


def _view(change: FileChange) -> ChangeView:
    """Show a change as a diff from `now` to `then`."""
    old, new = (
        _side(change.path, change.now, change.now_mode),
        _side(change.path, change.then, change.then_mode),
    )
    blocks = changes(old.lines, new.lines) if old.lines is not None and new.lines is not None else []
    diff = file_diff(old, new, blocks)
    return ChangeView(change.path, diff.text, diff.added, diff.removed, change.conflict)


def _side(name: str, data: bytes | None, mode: int) -> Side:
    if data is None:
        return Side(name, [], None)
    encoding = detect(data) if data else None
    if data and encoding is None:
        return Side(name, None, mode)
    text = encoding.decode(data) if encoding else ""
    return Side(name, split_lines(text), mode)

"""The way back of an open session: rewind, undo and redo, forks, diffs and exports for the interface."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.agent.rewind import Rewind, Rewound
from agent_tui.conversation.picture import png_of
from agent_tui.protocol.errors import AgentTuiError, NothingThereError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.sessions.frames import RawRecord, dumps, text_of
from agent_tui.sessions.info import info_of
from agent_tui.sessions.replay import blocks_of
from agent_tui.sessions.store import Session, SessionStore
from agent_tui.sessions.tree import TreePoint, branch_end
from agent_tui.ui.changes import ChangeView
from agent_tui.ui.past import MoveView, PointView

if TYPE_CHECKING:
    from agent_tui.conversation.changes import Opened, SessionChanges

_EXCERPT_CHARS = 600
_EXCERPT_BLOCKS = 6
_FORMATS = ("md", "html", "json")
_OF_SCREEN = ("svg", "png")


class SessionPast:
    """Implements `ui.past.Past` for whatever session is open; `reload` makes the agent read its conversation anew."""

    def __init__(
        self,
        *,
        workspace: Path,
        store: SessionStore,
        opened: "Callable[[], Opened]",
        reload: Callable[[str], Awaitable[None]],
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._opened = opened
        self._reload = reload
        self._changes: tuple[Opened, SessionChanges] | None = None

    @property
    def changes(self) -> "SessionChanges":  # no cached_property: the checker holds it against the protocol
        from agent_tui.conversation.changes import SessionChanges  # 3 ms of CPU, loaded ahead by `run.ahead`

        opened = self._opened()
        # What was taken back in another session is not undone in this one.
        if self._changes is None or self._changes[0] is not opened:
            made = SessionChanges(workspace=self._workspace, opened=self._opened, reload=self._reload)
            self._changes = opened, made
        return self._changes[1]

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
        from agent_tui.conversation.changes import views

        return await views(await self._rewind().preview(entry_id))

    async def preview_redo(self) -> Sequence[ChangeView] | None:
        from agent_tui.conversation.changes import views

        plan = await self._rewind().preview_redo()
        return None if plan is None else await views(plan)

    async def rewind(
        self, entry_id: str, *, conversation: bool = True, files: bool = True, allowed: Collection[str] = ()
    ) -> MoveView:
        prompt = next(
            (text_of(r, "text") for r in await self._records() if r.get("id") == entry_id),
            "",
        )
        done = await self._rewind().to(entry_id, conversation=conversation, files=files, allowed=allowed)
        return await self._moved(done, "The conversation went back.", prompt=prompt)

    async def redo(self, *, allowed: Collection[str] = ()) -> MoveView | None:
        done = await self._rewind().redo(allowed=allowed)
        return None if done is None else await self._moved(done, "What was undone is back.")

    async def go_to(self, entry_id: str) -> MoveView:
        end = branch_end(await self._records(), entry_id)
        await self._opened().record.move_to(end)
        return await self._moved(Rewound(None, conversation=True), "The conversation is another one now.")

    async def label(self, entry_id: str, label: str) -> None:
        await self._opened().record.label(entry_id, label)

    async def fork(self, entry_id: str = "") -> str:
        point = await self._point(entry_id) if entry_id else None
        record = self._opened().record
        outline = await asyncio.to_thread(record.outline)
        path = outline.path(point.before if point else None)
        if not path:
            raise NothingThereError("There is nothing to copy yet.")
        name = f"{record.name} (copy)" if record.name else ""
        try:
            return await asyncio.to_thread(
                lambda: self._store.copy(self._workspace, outline, path, name=name, origin=record.id)
            )
        except OSError as error:
            raise AgentTuiError(f"The copy cannot be written: {error.strerror or error}") from error

    async def export(self, kind: str, path: str) -> str:
        chosen = (kind or "md").lower().replace("markdown", "md").replace("jsonl", "json")
        if chosen not in _FORMATS:
            raise AgentTuiError(
                f"There is no format {kind!r}{did_you_mean(kind, (*_FORMATS, *_OF_SCREEN), end='.')}"
            )
        record = self._opened().record
        target = self._target(path, f"session-{record.id[:8]}.{'jsonl' if chosen == 'json' else chosen}")
        try:
            await asyncio.to_thread(self._export, record, chosen, target, bool(path))
        except OSError as error:
            raise AgentTuiError(f"{target} cannot be written: {error.strerror or error}") from error
        return f"Written to {target}"

    async def export_picture(self, kind: str, path: str, svg: str) -> str:
        target = self._target(path, f"screen-{self._opened().record.id[:8]}.{kind}")
        data = await png_of(svg, outside=self._workspace) if kind == "png" else svg.encode()
        try:
            await asyncio.to_thread(_write, target, [data], bool(path))
        except OSError as error:
            raise AgentTuiError(f"{target} cannot be written: {error.strerror or error}") from error
        return f"Written to {target}"

    def _target(self, path: str, name: str) -> Path:
        given = Path(os.path.expanduser(path)) if path else Path(name)
        target = self._workspace / given
        self._store.refuse_inside(target)
        return target

    async def excerpt(self, session_id: str) -> str:
        return await asyncio.to_thread(self._excerpt, session_id)

    async def rename(self, session_id: str, name: str) -> None:
        record = self._opened().record
        if session_id == record.id:
            await record.rename(name)
            return
        stored = await asyncio.to_thread(self._store.open, session_id)
        try:
            await stored.rename(name)
        finally:
            await stored.aclose()

    async def search(self, text: str) -> Sequence[str]:
        found = await asyncio.to_thread(self._store.search, text)
        return [hit.info.session_id for hit in found]

    def _rewind(self) -> Rewind:
        opened = self._opened()
        return Rewind(opened.record, opened.checkpoints)

    async def _records(self) -> Sequence[RawRecord]:
        return await asyncio.to_thread(self._opened().record.records)

    async def _point(self, entry_id: str) -> TreePoint:
        points = await asyncio.to_thread(self._rewind().points)
        point = next((p for p in points if p.entry_id == entry_id), None)
        if point is None:
            raise AgentTuiError(f"There is no prompt {entry_id!r} in this session.")
        return point

    async def _moved(self, done: Rewound, words: str, *, prompt: str = "") -> MoveView:
        """Show the conversation as it is now; `words` say what became of it, when it moved."""
        files = done.files
        parts: list[str] = []
        if done.conversation:
            parts.append(words)
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
        outline = record.outline()
        if outline.is_empty:
            raise NothingThereError("This session holds nothing to write yet.")
        info = info_of(outline, Path(f"{record.id}.jsonl"), changed_at=time.time())
        if kind == "json":
            parts = (f"{dumps(entry)}\n" for entry in record.whole_records())
        else:
            from agent_tui.sessions.export import (  # 0.5 MiB with its table of HTML's names
                to_html,
                to_markdown,
            )

            parts = iter([(to_html if kind == "html" else to_markdown)(info, record.replay())])
        _write(target, (part.encode("utf-8", "replace") for part in parts), overwrite)

    def _excerpt(self, session_id: str) -> str:
        outline = self._store.outline(session_id)
        records = outline.records(outline.path())
        blocks = [b for b in blocks_of(records, self._store.blobs) if b.kind in ("user", "assistant")]
        lines = [
            f"{'›' if block.kind == 'user' else ' '} {' '.join(block.text.split())[:_EXCERPT_CHARS]}"
            for block in blocks[-_EXCERPT_BLOCKS:]
        ]
        return "\n".join(lines)


def _write(target: Path, parts: Iterable[bytes], overwrite: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if overwrite else os.O_EXCL)
    with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        file.writelines(parts)

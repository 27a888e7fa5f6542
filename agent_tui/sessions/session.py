"""One session: its file while it is open, as the journal of the turns and as what can be read back."""

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.protocol.replay import KEPT_BLOCKS, BlockKind, ReplayBlock, StoredBlocks, StoredText
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.encoding import Filler, Slimmer, as_object, as_objects
from agent_tui.sessions.frames import (
    FORMAT_VERSION,
    Damage,
    Json,
    RawRecord,
    each_record,
    no_collection,
    read_frames,
    text_of,
    tree_part,
)
from agent_tui.sessions.outline import Outline
from agent_tui.sessions.paging import SessionTexts, paged_blocks
from agent_tui.sessions.replay import blocks_of, tool_block
from agent_tui.sessions.rescue import other_places, write_elsewhere
from agent_tui.sessions.unsent import read_unsent, write_unsent
from agent_tui.sessions.writer import OwnedThread, SessionFile

if TYPE_CHECKING:  # these pull in pydantic, which costs 110 ms of CPU before the first paint
    from agent_tui.protocol.messages import AssistantMessage, UserMessage
    from agent_tui.protocol.permissions import PermissionRequest, Verdict
    from agent_tui.protocol.tools import ToolCall, ToolCallOutcome
    from agent_tui.sessions.restored import Restored

PROMPT_RETURNED = "prompt_returned"
"""The stop reason of a turn whose prompt does not count: nothing came of it, and it leaves the active path."""
_CLOSE_TIMEOUT_S = 2.0
_CHILD_CHARS = 48
_READ_AT_ONCE = 64
"""Records that are read forwards, as a file is read best, on the way back to the one that is looked for."""


class Session:
    """A conversation that is written down as it happens; made by `SessionStore`.

    The journal's methods return when their record is in the file, and for prompts, approvals and turn ends on
    the disk. A disk that fails is said in `notices`, once; work goes on in memory. Not to be shared by two turns at a time.
    """

    def __init__(
        self,
        *,
        session_id: str,
        workspace: Path,
        file: SessionFile | None,
        blobs: Blobs,
        redact: Callable[[str], str],
        data_dir: Path | None,
        name: str = "",
        header: RawRecord | None = None,
        outline: Outline | None = None,
    ) -> None:
        self.id = session_id
        self.workspace = workspace
        self.name = name
        self.notices: list[str] = []
        self._file = file
        self._blobs = blobs
        self._data_dir = data_dir
        self._header = header
        self._lines: list[bytes] = []
        self._written = 0
        self._records: tuple[int, list[RawRecord]] | None = None
        self._outline = None if outline is None else (0, outline)
        self._leaf = outline.leaf if outline else ""
        self._before_turn = self._leaf
        self._held: list[tuple[str, ToolCallOutcome]] = []
        self._redact = redact
        self._slimmer = Slimmer(redact, blobs.put if file else None)
        self._thread = OwnedThread(f"session-{session_id[:8]}")

    @property
    def path(self) -> Path | None:
        """Where the session is written; None for one that is kept in memory on purpose."""
        return self._file.path if self._file else None

    @property
    def leaf(self) -> str:
        """The id of the active entry, "" before the first."""
        return self._leaf

    @cached_property
    def data_dir(self) -> Path:
        """A private folder (0700) for full outputs; in a temporary place when the session's own cannot be made."""
        if self._data_dir is not None:
            try:
                self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                pass
            else:
                if os.access(self._data_dir, os.W_OK):
                    return self._data_dir
        return Path(tempfile.mkdtemp(prefix="agent-tui-"))

    def child(self, call_id: str, *, name: str) -> "Session":
        """Begin the transcript of a sub-agent: a file of the same kind in this session's folder, gone with it.

        It is kept in memory when this session is. It is in no list of sessions.
        """
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:_CHILD_CHARS]
        folder = self.data_dir / "agents"
        header: RawRecord = {
            "type": "header",
            "id": f"h{os.urandom(4).hex()}",
            "at": round(time.time(), 3),
            "version": FORMAT_VERSION,
            "session_id": f"{stem}-{os.urandom(3).hex()}",
            "workspace": str(self.workspace),
            "name": name,
        }
        child_id = text_of(header, "session_id")
        return Session(
            session_id=child_id,
            workspace=self.workspace,
            file=SessionFile(folder / f"{child_id}.jsonl", self.notices.append) if self._file else None,
            blobs=Blobs(folder / "blobs"),
            redact=self._redact,
            data_dir=None,
            name=name,
            header=header,
        )

    def keep_unsent(self, texts: Sequence[str]) -> None:
        """Keep what waits to be sent, beside the file and in order with it; a session in memory keeps nothing."""
        if self._file is not None:
            masked = [self._redact(text) for text in texts]
            self._thread.submit(lambda: write_unsent(self.data_dir, masked))

    def unsent(self) -> list[str]:
        """Give what waited to be sent when an earlier run ended."""
        return read_unsent(self._data_dir) if self._file is not None and self._data_dir is not None else []

    async def user_message(self, message: "UserMessage", *, turn_id: str, text: str) -> None:
        """Record a prompt; on disk when it returns."""
        if text:
            self._before_turn = self._leaf
        await self._entry(
            "user",
            turn_id,
            lambda: {"text": text, "message": message.model_dump(mode="json")},
            sync=bool(text),
        )
        if text:
            await self.shell_lines_over(turn_id=turn_id)

    def behind_prompt(self, command: str, outcomes: Sequence["ToolCallOutcome"]) -> None:
        """Keep what the shell lines of a command came to until its prompt is recorded: they stand behind it."""
        self._held = [(command, outcome) for outcome in outcomes]

    async def shell_lines_over(self, *, turn_id: str = "") -> None:
        """Record what is kept now; without a prompt when that was not sent."""
        held, self._held = self._held, []
        for line in held:
            await self._shell_line(*line, turn_id=turn_id)

    async def _shell_line(self, command: str, outcome: "ToolCallOutcome", *, turn_id: str) -> None:
        await self._entry(
            "shell_line",
            turn_id,
            lambda: {"command": command, "outcome": outcome.model_dump(mode="json")},
        )

    async def assistant_message(self, message: "AssistantMessage", *, turn_id: str) -> None:
        """Record a finished reply."""
        await self._entry("assistant", turn_id, lambda: {"message": message.model_dump(mode="json")})

    async def round_started(self, calls: Sequence["ToolCall"], *, turn_id: str) -> None:
        """Record the calls of a reply."""
        await self._entry("round", turn_id, lambda: {"calls": [c.model_dump(mode="json") for c in calls]})

    async def approval_requested(self, requests: Sequence["PermissionRequest"], *, turn_id: str) -> None:
        """Record what is about to be asked; on disk when it returns."""
        await self._entry(
            "approval_request",
            turn_id,
            lambda: {"requests": [r.model_dump(mode="json") for r in requests]},
            sync=True,
        )

    async def approval_decided(self, verdicts: Sequence["Verdict"], *, turn_id: str) -> None:
        """Record the answers; on disk when it returns."""
        await self._entry(
            "approval_response",
            turn_id,
            lambda: {"verdicts": [v.model_dump(mode="json") for v in verdicts]},
            sync=True,
        )

    async def outcome(self, outcome: "ToolCallOutcome", *, turn_id: str) -> None:
        """Record one call's answer."""
        await self._entry("outcome", turn_id, lambda: {"outcome": outcome.model_dump(mode="json")})

    async def round_finished(self, message: "UserMessage", *, turn_id: str) -> None:
        """Record the message with all results of the round."""
        await self._entry("results", turn_id, lambda: {"message": message.model_dump(mode="json")})

    async def compacted(
        self, messages: Sequence["UserMessage | AssistantMessage"], *, turn_id: str, summary: str
    ) -> None:
        """Record the conversation that replaces the one so far."""
        await self._entry(
            "compacted",
            turn_id,
            lambda: {"messages": [m.model_dump(mode="json") for m in messages], "summary": summary},
            sync=True,
        )

    async def turn_finished(self, *, turn_id: str, stop_reason: str) -> None:
        """Record how the turn ended; on disk when it returns. A prompt that was given back leaves the active path."""
        returned, before = stop_reason == PROMPT_RETURNED, self._before_turn
        await self._entry("turn_end", turn_id, lambda: {"stop_reason": stop_reason}, sync=not returned)
        if returned:
            await self.move_to(before, why=PROMPT_RETURNED)

    async def todos_changed(self, items: Sequence[RawRecord]) -> None:
        """Record the todo list as it is now."""
        await self._entry("todo", "", lambda: {"items": list(items)})

    async def checkpoint(self, facts: RawRecord) -> str:
        """Record the state of the files (the fields of CheckpointRecord); give the entry's id."""
        return await self._entry("checkpoint", "", lambda: facts)

    async def move_to(self, entry_id: str, *, why: str = "") -> None:
        """Make `entry_id` the active entry ("" is before the first); what comes next follows it. Deletes nothing."""
        self._leaf = entry_id
        await self._record("leaf", "", lambda: {"target": entry_id, "why": why}, sync=True)

    async def rename(self, name: str) -> None:
        """Name the session."""
        self.name = name
        await self._record("rename", "", lambda: {"name": name}, sync=True)

    async def label(self, entry_id: str, label: str) -> None:
        """Name an entry."""
        await self._record("label", "", lambda: {"target": entry_id, "label": label})

    async def add_response(self, response: RawRecord) -> None:
        """Record a signed answer to a deferred approval; on disk when it returns."""
        await self._record("signed_response", "", lambda: {"response": response}, sync=True)

    async def use_nonce(self, nonce: str) -> None:
        """Record that a signed answer was used; on disk when it returns."""
        await self._record("nonce_used", "", lambda: {"nonce": nonce}, sync=True)

    def outline(self) -> Outline:
        """Look through the file and what is not in it yet; kept until the next record or until it is shown."""
        kept, written = self._outline, self._written
        if kept is not None and kept[0] == written:
            return kept[1]
        unsaved = tuple(self._lines if self._file is None else self._file.unsaved)
        try:
            outline = Outline(self._file.path if self._file else None, unsaved)
        except OSError:  # never written, or on a disk that is gone: what is in memory counts
            outline = Outline(None, unsaved)
        self._outline = written, outline
        return outline

    def records(self) -> list[RawRecord]:
        """Give `frames.tree_part` of all records, the other branches too; kept until the next record."""
        kept, written = self._records, self._written
        if kept is None or kept[0] != written:
            self._records = kept = written, read_frames(self._all_lines(), keep=tree_part).records
        return kept[1]

    def whole_records(self) -> Iterator[RawRecord]:
        """Give all records with the large texts that the file only names, so that they need no other file."""
        return map(Filler(self._blobs).load_blobs, each_record(self._all_lines()))

    @property
    def is_unsaved(self) -> bool:
        """Whether something could not be written and is in memory only; False for one that is so on purpose."""
        return self._file is not None and bool(self._file.unsaved)

    @property
    def is_kept(self) -> bool:
        """Whether there is a file of this session."""
        return self._file is not None and self._file.path.exists()

    def write_elsewhere(self) -> str:
        """Write a copy of a session that could not be saved to another place; give a sentence, "" when all is saved."""
        if not self.is_unsaved:
            return ""
        name = f"agent-tui-session-{self.id[:8]}-{os.urandom(2).hex()}.jsonl"
        path = write_elsewhere(self.whole_records(), name, other_places())
        if path is None:
            return (
                "Part of the session could not be saved, and no other place took a copy: that part is lost."
            )
        return (
            f"The session could not be saved where it belongs; a copy is {path}. "
            f"Bring it back with: agent-tui sessions import {path}"
        )

    def damage(self) -> Sequence[Damage]:
        """Say what is wrong with the file."""
        return read_frames(self._all_lines(), keep=tree_part).damage

    def last_tree(self) -> str:
        """Give the tree of the newest checkpoint in the file, on whatever branch; "" when none was taken."""
        outline = self.outline()
        newest = outline.records(outline.of_kinds("checkpoint")[-1:])
        return next((text_of(record, "tree") for record in newest), "")

    def replay(self) -> list[ReplayBlock]:
        """Give the blocks of the active path, oldest first. Needs no pydantic."""
        outline = self.outline()
        with no_collection():
            return blocks_of(outline.records(outline.path()), self._blobs)

    def paged_replay(
        self, *, kept: int = KEPT_BLOCKS, known: Sequence[ReplayBlock] = ()
    ) -> Sequence[ReplayBlock]:
        """Give the blocks of the active path, oldest first; the texts of all but the last `kept` stay in the file.

        `known` are given back when they were made of the very same.
        """
        if self._file is None:
            return self.replay()
        outline = self.outline()
        self._outline = None  # 4 MB with 10,000 blocks, of which nothing is needed again
        if isinstance(known, StoredBlocks) and known.state == outline.state:
            return known
        with no_collection():
            texts = SessionTexts(self._file.path, self._blobs)
            return paged_blocks(outline, self._blobs, texts, kept=kept)

    def texts_since(self, offset: int) -> dict[tuple[BlockKind, str], StoredText]:
        """Give the places of the texts that stand in the file from `offset` on; {} when there is no file."""
        return SessionTexts(self._file.path, self._blobs).since(offset) if self._file else {}

    def restored(
        self, *, keep_pending: bool = False, replied: "Callable[[AssistantMessage], None] | None" = None
    ) -> "Restored":
        """Give the conversation of the active path, its todo list, summaries and open approvals; tell each reply."""
        outline = self.outline()
        path = outline.path()
        if not path:
            from agent_tui.sessions.restored import Restored  # pydantic, after the first paint

            return Restored()
        from agent_tui.sessions.restore import restore  # with the types of all records, 4 ms of CPU more

        return restore(outline.records(path), self._blobs, keep_pending=keep_pending, replied=replied)

    def messages_at(self, entry_id: str) -> "list[UserMessage | AssistantMessage]":
        """Give the conversation as it was when `entry_id` ("" is before the first) was the active entry."""
        from agent_tui.sessions.restore import restore  # pydantic, after the first paint

        outline = self.outline()
        return restore(outline.records(outline.path(entry_id)), self._blobs).messages if entry_id else []

    def messages(self) -> "list[UserMessage | AssistantMessage]":
        """Give the conversation for the model; every call has a result."""
        return self.restored().messages

    def full_output(self, call_id: str) -> ReplayBlock | None:
        """Give the panel of a call with all that the model read, or None when there is no such call."""
        record = self._newest(lambda r: _call_of(r) == call_id, "outcome", "shell_line")
        if not record:
            return None
        whole = as_object(Filler(self._blobs).fill(record).get("outcome"))
        return tool_block(whole, text_of(record, "id"), whole=True)

    def images_of(self, *, call_id: str, prompt: str) -> list[RawRecord]:
        """Give the stored images of a call's result, or of the newest prompt of this text."""
        if call_id:
            record = self._newest(lambda r: _call_of(r) == call_id, "outcome")
        else:
            record = self._newest(lambda r: r.get("text") == prompt, "user")
        Filler(self._blobs).load_blobs(record)
        if call_id:
            found = as_object(as_object(record.get("outcome")).get("result")).get("images")
        else:
            found = as_object(record.get("message")).get("content")
        return [block for block in as_objects(found) if block.get("type") == "image"]

    def close(self) -> None:
        """Write what is left and give the lock back; waits 2 seconds at most. Cheap to call again."""
        if self._file is not None and self._header is None:
            self._thread.submit(self._file.close)
        elif self._file is not None:
            self._file.close()
        self._thread.close(timeout_s=_CLOSE_TIMEOUT_S)

    async def aclose(self) -> None:
        """Close without holding up the event loop."""
        await asyncio.to_thread(self.close)

    async def _entry(
        self, kind: str, turn_id: str, facts: Callable[[], RawRecord], *, sync: bool = False
    ) -> str:
        """Append an entry below the active one and make it the active one."""
        return await self._record(kind, turn_id, facts, sync=sync, is_entry=True)

    async def _record(
        self,
        kind: str,
        turn_id: str,
        facts: Callable[[], RawRecord],
        *,
        sync: bool = False,
        is_entry: bool = False,
    ) -> str:
        record: dict[str, Json] = {"type": kind, "id": os.urandom(6).hex(), "at": round(time.time(), 3)}
        if is_entry:
            record["parent"] = self._leaf
            self._leaf = str(record["id"])
        if turn_id:
            record["turn_id"] = turn_id
        header, self._header = self._header, None
        self._records = self._outline = None

        def write() -> None:
            if header is not None:
                self._write(header, sync=False)
            self._write({**record, **facts()}, sync=sync)
            self._written += 1  # what another thread has read meanwhile may lack this record

        await asyncio.wrap_future(self._thread.submit(write))
        return str(record["id"])

    def _write(self, record: RawRecord, *, sync: bool) -> None:
        line = self._slimmer.line(record)
        if self._file is None:
            self._lines.append(line)
            return
        self._file.append(line, sync=sync)
        if self._file.needs_heartbeat and self._thread.idle is None:
            self._thread.idle = self._file.beat

    def _all_lines(self) -> Iterator[bytes]:
        """Give the lines of the file and those that are not in it yet."""
        unsaved = tuple(self._lines if self._file is None else self._file.unsaved)
        if self._file is not None:
            with suppress(OSError), self._file.path.open("rb") as lines:
                yield from lines  # without a file, or with a disk that is gone, what is in memory counts
        yield from unsaved

    def _newest(self, is_meant: Callable[[RawRecord], bool], *kinds: str) -> RawRecord:
        """Give the newest record of these types that is meant, {} when there is none."""
        outline = self.outline()
        entries = outline.of_kinds(*kinds)
        for end in range(len(entries), 0, -_READ_AT_ONCE):
            records = list(outline.records(entries[max(0, end - _READ_AT_ONCE) : end]))
            if found := next(filter(is_meant, reversed(records)), None):
                return found
        return {}


def _call_of(record: RawRecord) -> Json:
    return as_object(record.get("outcome")).get("tool_use_id")

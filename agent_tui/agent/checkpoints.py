"""Checkpoints of a workspace's files, taken and put back by a child process that never holds up the screen."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent_tui.executor.bounded import StopSignal
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.sessions.encoding import as_object, as_objects
from agent_tui.sessions.frames import Json, RawRecord, text_of
from agent_tui.sessions.packs import PackedBlobs
from agent_tui.sessions.store import project_folder
from agent_tui.sessions.trees import FILE, LINK
from agent_tui.toolkit.children import PIPE, Child, start_child

TIMEOUT_S = 600.0
_ANSWER_LIMIT_BYTES = 256 * 1024 * 1024
_CLOSED = "the session was closed meanwhile"
_END_TIMEOUT_S = 2.0


class CheckpointError(AgentTuiError):
    """A checkpoint cannot be taken or put back; the files stay as they are."""


@dataclass(frozen=True)
class Checkpoint:
    """A state of the files. `changed` are the paths that differ from the checkpoint before,
    `uncovered` files that are not part of it: over 4 MiB, beyond 1 GiB in all, or unreadable."""

    tree: str
    changed: tuple[str, ...]
    uncovered: tuple[str, ...]
    files: int


@dataclass(frozen=True)
class FileChange:
    """What putting a checkpoint back would do to one path.

    `now` and `then` are its contents (b"" for none, a link's target as bytes), None where there is no file; the modes are
    permission bits. `conflict` says why it is not done unasked.
    """

    path: str
    now: bytes | None
    then: bytes | None
    conflict: str = ""
    now_mode: int = 0
    then_mode: int = 0


@dataclass(frozen=True)
class Content:
    """What a file holds, or where a link leads. Of `mode` only the right to execute counts where a file is there."""

    data: bytes
    mode: int = 0o644
    is_link: bool = False


@dataclass(frozen=True)
class PutBack:
    """What putting a checkpoint back came to. `before` names the state it replaced, `tree` the one there is now;
    `left` are (path, why) of what was not touched."""

    before: str
    tree: str
    changed: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


class Checkpoints:
    """The checkpoints of one workspace; contents are kept in `folder` (0600), outside the project.

    A path that the person changed since the agent's last checkpoint is never overwritten unasked.
    """

    def __init__(self, workspace: Path, folder: Path) -> None:
        self._workspace = Path(os.path.realpath(workspace))
        self._folder = folder
        self._blobs = PackedBlobs(folder, project_folder(self._workspace))
        self._process: Child | None = None
        self._closed = False
        self._turn = asyncio.Lock()
        self._first: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look at the files for the first time, in the background. Cheap to call again."""
        if self._first is None:
            self._first = asyncio.create_task(self._look())  # owned: ended by aclose

    async def ready(self, patience_s: float, *, stop: StopSignal) -> bool:
        """Wait for the first look, `patience_s` at most and until `stop` is pressed; tell whether it is over."""
        self.begin()
        assert self._first is not None  # begun in the line above
        waiter = stop.watch()
        try:
            await asyncio.wait({self._first, waiter}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.unwatch(waiter)
        return self._first.done()

    async def _look(self) -> None:
        with contextlib.suppress(CheckpointError):  # the first checkpoint meets it again and says it
            await self._ask({"op": "look"})

    async def take(self, extra: Collection[str] = (), *, since: str = "") -> Checkpoint:
        """Read the state of the files; `extra` are absolute paths to cover from now on. Raises CheckpointError.

        `since` is the tree that the first checkpoint of this program is compared with.
        """
        answer = await self._ask({"op": "take", "extra": [*sorted(extra)], "since": since})
        files = answer.get("files")
        return Checkpoint(
            tree=text_of(answer, "tree"),
            changed=_strings(answer.get("changed")),
            uncovered=_strings(answer.get("uncovered")),
            files=files if isinstance(files, int) else 0,
        )

    async def plan(
        self, tree: str, *, last: str = "", doubtful: Collection[str] = (), later: Sequence[str] = ()
    ) -> list[FileChange]:
        """Say what putting `tree` back would do; `last` is the agent's last checkpoint. Raises CheckpointError.

        `doubtful` are paths that may have been changed by a background job or by the person: they conflict. `later` are
        the trees after `tree`, which know files that were not covered yet.
        """
        answer = await self._ask(
            {"op": "plan", "tree": tree, "last": last, "doubtful": [*sorted(doubtful)], "later": [*later]}
        )
        return await asyncio.to_thread(self._changes, answer)

    async def compare(self, tree: str, other: str) -> list[FileChange]:
        """Say how `other` (then) differs from `tree` (now). Raises CheckpointError."""
        answer = await self._ask({"op": "compare", "tree": tree, "other": other})
        return await asyncio.to_thread(self._changes, answer)

    async def mix(
        self,
        tree: str,
        *,
        other: str = "",
        paths: Collection[str] = (),
        contents: Mapping[str, Content | None] | None = None,
    ) -> str:
        """Give `tree` with `paths` as they are in `other` and with `contents` (None: no file) in their places.

        Nothing on disk changes. Raises CheckpointError.
        """
        stored = await asyncio.to_thread(self._stored, contents or {})
        answer = await self._ask(
            {"op": "mix", "tree": tree, "other": other, "paths": [*sorted(paths)], "files": stored}
        )
        return text_of(answer, "tree")

    def _stored(self, contents: Mapping[str, Content | None]) -> RawRecord:
        files: RawRecord = {}
        try:
            for path, content in contents.items():
                files[path] = None if content is None else self._stored_one(content)
            self._blobs.flush()
        except OSError as error:
            raise CheckpointError(f"The files could not be kept: {error.strerror or error}") from error
        return files

    def _stored_one(self, content: Content) -> Json:
        if content.is_link:
            return {"kind": LINK, "mode": 0, "ref": os.fsdecode(content.data)}
        return {"kind": FILE, "mode": content.mode, "ref": self._blobs.put_bytes(content.data)}

    async def put_back(
        self,
        tree: str,
        *,
        last: str = "",
        allowed: Collection[str] = (),
        only: Collection[str] = (),
        doubtful: Collection[str] = (),
        later: Sequence[str] = (),
    ) -> PutBack:
        """Make the files as in `tree`, conflicts only where `allowed`; `only` limits it to these paths.

        The state before is kept, so that it can be put back too. Raises CheckpointError.
        """
        answer = await self._ask(
            {
                "op": "restore",
                "tree": tree,
                "last": last,
                "allowed": [*sorted(allowed)],
                "only": [*sorted(only)],
                "doubtful": [*sorted(doubtful)],
                "later": [*later],
            }
        )
        left = answer.get("left")
        pairs = cast("list[list[str]]", left) if isinstance(left, list) else []
        return PutBack(
            before=text_of(answer, "before"),
            tree=text_of(answer, "tree"),
            changed=_strings(answer.get("changed")),
            left=tuple((path, why) for path, why in pairs),
        )

    async def aclose(self) -> None:
        """End the child process, within 2 seconds; none is started after that."""
        self._closed = True
        if self._first is not None and not self._first.done():
            self._first.cancel()
            await asyncio.wait({self._first})
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await process.exited(_END_TIMEOUT_S)
        finally:
            await process.end()

    async def _ask(self, request: RawRecord) -> RawRecord:
        async with self._turn:
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    line = await self._exchange(json.dumps(request))
            except (OSError, TimeoutError, ValueError) as error:
                await self._give_up()
                raise CheckpointError(
                    f"The files could not be read: {error or 'it took too long'}"
                ) from error
            except BaseException:
                await self._give_up()  # an answer that nobody waits for would be taken for the next one
                raise
        answer = as_object(cast("Json", json.loads(line or b'{"error": "the reader died"}')))
        if answer.get("error"):
            raise CheckpointError(f"The files could not be read: {answer['error']}")
        if answer.get("lost"):
            raise CheckpointError("This checkpoint's stored files are gone.")
        return answer

    async def _exchange(self, line: str) -> bytes:
        process = self._process or await self._start()
        if process.stdin is None or process.stdout is None:
            raise OSError("the reader has no pipes")
        process.stdin.write(line.encode() + b"\n")
        await process.stdin.drain()
        return await process.stdout.readline()

    async def _start(self) -> Child:
        if self._closed:
            raise OSError(_CLOSED)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        worker = (sys.executable, "-I", "-m", "agent_tui.agent.checkpoint_worker")
        process = await start_child(
            (*worker, str(self._workspace), str(self._folder)),
            stdin=PIPE,
            stdout=PIPE,
            limit_bytes=_ANSWER_LIMIT_BYTES,
        )
        if self._closed:  # while it started
            await process.end()
            raise OSError(_CLOSED)
        self._process = process
        return process

    async def _give_up(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end()

    def _changes(self, answer: RawRecord) -> list[FileChange]:
        return [
            FileChange(
                path=text_of(difference, "path"),
                now=self._content(difference.get("now")),
                then=self._content(difference.get("then")),
                conflict=text_of(difference, "conflict"),
                now_mode=_mode(difference.get("now")),
                then_mode=_mode(difference.get("then")),
            )
            for difference in as_objects(answer.get("differences"))
        ]

    def _content(self, entry: Json) -> bytes | None:
        if not isinstance(entry, dict):
            return None
        if entry.get("kind") == "link":
            return os.fsencode(text_of(entry, "ref"))
        return self._blobs.get_bytes(text_of(entry, "ref")) or b""


def _mode(entry: Json) -> int:
    mode = entry.get("mode") if isinstance(entry, dict) else None
    return mode if isinstance(mode, int) else 0


def _strings(value: Json) -> tuple[str, ...]:
    items: Sequence[Json] = value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))

"""What changed in the files of the open session or branch, and the way back for single files and hunks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_tui.agent.branch_base import branch_base
from agent_tui.agent.checkpoints import Checkpoints, Content, FileChange, PutBack
from agent_tui.agent.environment import Surroundings
from agent_tui.protocol.errors import AgentTuiError, NothingThereError
from agent_tui.sessions.frames import RawRecord
from agent_tui.sessions.store import Session
from agent_tui.sessions.tree import (
    RESTORED,
    TreePoint,
    doubtful_files,
    files_before,
    first_files,
    last_files,
    points,
)
from agent_tui.toolkit.diffing import Block, changes, hunks, take_hunks
from agent_tui.toolkit.encoding import Encoding, detect
from agent_tui.toolkit.git_diff import Side, file_diff
from agent_tui.toolkit.lines import split_lines
from agent_tui.ui.changes import ChangeView, Comparison, Reverted, Scope

NOTHING_KEPT = "Nothing of this session has changed a file yet; /diff branch shows what differs from git."
BY_HAND = "changed by hand since the agent's last round"
DOUBTFUL = "changed by you or by a background job while the agent worked"
NOT_THE_AGENT = "not changed by the agent alone"
_MOVED_ON = "changed since it was shown, so it stays as it is; look again."


class Opened(Protocol):
    """What the way back needs of an open session."""

    @property
    def record(self) -> Session: ...

    @property
    def checkpoints(self) -> Checkpoints | None: ...

    @property
    def surroundings(self) -> Surroundings: ...


@dataclass(frozen=True)
class _Compared:
    """A comparison that was shown: the trees `then` and `now`, how files differ, what is the person's and why.
    `when` says when things were as in `then`.

    `by_hand` holds how a file differs from what the agent left.
    """

    since: str
    when: str
    then: str
    now: str
    files: dict[str, FileChange]
    by_hand: dict[str, FileChange]
    doubts: dict[str, str]


class SessionChanges:
    """Implements `ui.changes.Changes` for whatever session is open; `reload` gives the model a note."""

    def __init__(
        self,
        *,
        workspace: Path,
        opened: Callable[[], Opened],
        reload: Callable[[str], Awaitable[None]],
    ) -> None:
        self._workspace = workspace
        self._opened = opened
        self._reload = reload
        self._shown: _Compared | None = None
        self._reverts: list[tuple[str, str, str]] = []

    async def compare(self, scope: Scope) -> Comparison:
        records = await asyncio.to_thread(self._opened().record.records)
        self._shown = shown = await self._compare(records, scope)
        views = await asyncio.to_thread(lambda: [self._view(shown, path) for path in sorted(shown.files)])
        return Comparison(shown.since, views)

    async def revert(self, path: str, hunk: int | None = None, *, sure: bool = False) -> Reverted:
        shown = self._shown
        change = shown.files.get(path) if shown else None
        if shown is None or change is None:
            raise AgentTuiError(f"{path} is not among the changes that were shown.")
        parts = await asyncio.to_thread(_Parts, change)
        if hunk is not None and not 0 <= hunk < len(parts.groups):
            raise AgentTuiError(f"{path} has no part {hunk + 1} that can be taken back by itself.")
        whole = hunk is None or len(parts.groups) == 1
        asks = "" if sure else self._asks(shown, change, parts, None if whole else hunk)
        if asks:
            return Reverted(f"{path} was {self._doubt(shown, path)}.", asks=asks)
        checkpoints = self._checkpoints()
        if whole:
            wanted = await checkpoints.mix(shown.now, other=shown.then, paths=[path])
        else:
            assert hunk is not None  # a part of several
            wanted = await checkpoints.mix(shown.now, contents={path: parts.without(hunk)})
        what = path if whole else f"part {hunk + 1 if hunk is not None else 1} of {path}"
        return await self._put_back(wanted, shown.now, path, what, shown.when)

    async def undo_revert(self) -> str:
        if not self._reverts:
            return "Nothing was taken back here."
        path, before, after = self._reverts[-1]
        checkpoints = self._checkpoints()
        wanted = await checkpoints.mix(after, other=before, paths=[path])
        done = await checkpoints.put_back(wanted, last=after, only=[path])
        if done.left:
            return f"{path} {_MOVED_ON}"
        self._reverts.pop()
        await self._keep(done, changed={path})
        await self._reload(f"The person brought your change of {path} back; read it again.")
        return f"{path} is again as it was before you took it back."

    async def _put_back(self, wanted: str, shown: str, path: str, what: str, when: str) -> Reverted:
        """Write one file. It counts as the person's work from here on: no later move overwrites it unasked."""
        done = await self._checkpoints().put_back(wanted, last=shown, only=[path])
        if done.left:
            why = done.left[0][1]
            said = _MOVED_ON if why.startswith("changed by hand") else f"stays as it is: {why}."
            return Reverted(f"{path} {said}")
        if not done.changed:
            return Reverted(f"{path} {_MOVED_ON}")
        self._reverts.append((path, done.before, done.tree))
        await self._keep(done, left={path})
        await self._reload(f"The person put {what} back to what it was {when}; read it again.")
        return Reverted(f"{what} is as it was {when}.", done=True)

    async def _keep(
        self, done: PutBack, *, changed: AbstractSet[str] = frozenset(), left: AbstractSet[str] = frozenset()
    ) -> None:
        """Record the state after a move of one file; what else the person changed meanwhile stays the person's."""
        record = self._opened().record
        last = last_files(await asyncio.to_thread(record.records))
        since = await self._checkpoints().compare(last, done.before) if last else []
        mine = {change.path for change in since} - changed
        await record.checkpoint(
            {
                "tree": done.tree,
                "label": RESTORED,
                "changed": [*sorted(changed)],
                "left": [*sorted(mine | left)],
            }
        )

    async def _compare(self, records: Sequence[RawRecord], scope: Scope) -> _Compared:
        checkpoints = self._checkpoints()
        if scope == "branch":
            base = await branch_base(self._opened().surroundings.git)
            taken = await checkpoints.take([str(self._workspace / name) for name in base.files])
            then, now = await checkpoints.mix(taken.tree, contents=base.files), taken.tree
            since = f"{base.branch} ({base.commit[:7]})"
        else:
            then, since = _tree(records, scope), f"this {scope}"
            now = (await checkpoints.take()).tree
        files = {change.path: change for change in await checkpoints.compare(then, now)}
        last = last_files(records)
        by_hand = {change.path: change for change in await checkpoints.compare(last, now)} if last else {}
        return _Compared(
            since,
            f"{'at' if scope == 'branch' else 'before'} {since}",
            then,
            now,
            files,
            by_hand,
            await self._doubts(records, scope, then, files, by_hand),
        )

    async def _doubts(
        self,
        records: Sequence[RawRecord],
        scope: Scope,
        then: str,
        files: dict[str, FileChange],
        by_hand: dict[str, FileChange],
    ) -> dict[str, str]:
        """Say which of the files are not the agent's work alone."""
        prompts = [point for point in points(records) if point.active]
        doubts: dict[str, str] = {}
        if scope == "branch":
            first = first_files(records)
            mine = set(files)
            if first:
                mine = {change.path for change in await self._checkpoints().compare(then, first)}
            doubts.update(dict.fromkeys(mine, NOT_THE_AGENT))
        if prompts:
            start = prompts[-1 if scope == "turn" else 0].entry_id
            doubts.update(dict.fromkeys(doubtful_files(records, start), DOUBTFUL))
        doubts.update(dict.fromkeys(by_hand, BY_HAND))
        return {path: why for path, why in doubts.items() if path in files}

    def _asks(self, shown: _Compared, change: FileChange, parts: "_Parts", hunk: int | None) -> str:
        """Give the diff of what would be lost that is not the agent's, "" when that is nothing."""
        why = shown.doubts.get(change.path, "")
        by_hand = shown.by_hand.get(change.path)
        if not why:
            return ""
        if why != BY_HAND or by_hand is None:
            return _view(change).diff
        if hunk is not None and not parts.touches(hunk, by_hand):
            return ""
        return _view(by_hand).diff

    def _doubt(self, shown: _Compared, path: str) -> str:
        return shown.doubts.get(path, BY_HAND)

    def _view(self, shown: _Compared, path: str) -> ChangeView:
        return _view(shown.files[path], shown.doubts.get(path, ""))

    def _checkpoints(self) -> Checkpoints:
        checkpoints = self._opened().checkpoints
        if checkpoints is None:
            raise AgentTuiError("This session keeps no checkpoints.")
        return checkpoints


class _Parts:
    """The hunks of one file's change, each of which can be taken back by itself; none when it is no text."""

    def __init__(self, change: FileChange) -> None:
        self._old, self._new = _text(change.now, change.now_mode), _text(change.then, change.then_mode)
        self._mode = change.then_mode
        self.groups: list[list[Block]] = []
        if self._old and self._new and self._old.encoding.codec == self._new.encoding.codec:
            self.groups = hunks(changes(self._old.lines, self._new.lines))

    def without(self, hunk: int) -> Content:
        """Give the file with all hunks but one. Raises AgentTuiError."""
        assert self._old is not None  # there are hunks
        assert self._new is not None
        kept = [number for number in range(len(self.groups)) if number != hunk]
        lines = take_hunks(self._old.lines, self._new.lines, self.groups, kept)
        try:
            return Content(self._new.encoding.encode("".join(lines)), self._mode)
        except UnicodeEncodeError as error:
            raise AgentTuiError("This part cannot be written in the file's encoding.") from error

    def touches(self, hunk: int, by_hand: FileChange) -> bool:
        """Tell whether the lines of a hunk are among those that a later change made or moved."""
        left, now = (
            _text(by_hand.now, by_hand.now_mode),
            _text(by_hand.then, by_hand.then_mode),
        )
        if left is None or now is None:
            return True
        start, end = self.groups[hunk][0].new_start, self.groups[hunk][-1].new_end
        return any(
            block.new_start <= end and block.new_end >= start for block in changes(left.lines, now.lines)
        )


@dataclass(frozen=True)
class _Text:
    lines: Sequence[str]
    encoding: Encoding


def _text(data: bytes | None, mode: int) -> _Text | None:
    """Decode a file; None for none, for a link (which has no mode), and for what is no text."""
    if data is None or not mode:
        return None
    encoding = detect(data) if data else Encoding()
    return _Text(split_lines(encoding.decode(data)), encoding) if encoding else None


def _tree(records: Sequence[RawRecord], scope: Scope) -> str:
    """Give the tree of the files before the last turn, or before the first change of the session."""
    if scope == "session":
        tree = first_files(records)
    else:
        last: TreePoint | None = next((p for p in reversed(points(records)) if p.active), None)
        tree = files_before(records, last.entry_id) if last else None
        tree = tree or last_files(records)
    if not tree:
        raise NothingThereError(NOTHING_KEPT)
    return tree


async def views(found: Sequence[FileChange]) -> list[ChangeView]:
    """Show changes as diffs from `now` to `then`."""
    return await asyncio.to_thread(lambda: [_view(change, change.conflict) for change in found])


def _view(change: FileChange, conflict: str = "") -> ChangeView:
    old, new = (
        _side(change.path, change.now, change.now_mode),
        _side(change.path, change.then, change.then_mode),
    )
    blocks = changes(old.lines, new.lines) if old.lines is not None and new.lines is not None else []
    diff = file_diff(old, new, blocks)
    return ChangeView(change.path, diff.text, diff.added, diff.removed, conflict)


def _side(name: str, data: bytes | None, mode: int) -> Side:
    if data is None:
        return Side(name, [], None)
    encoding = detect(data) if data else None
    if data and encoding is None:
        return Side(name, None, mode)
    text = encoding.decode(data) if encoding else ""
    return Side(name, split_lines(text), mode)

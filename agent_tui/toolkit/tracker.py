"""What was shown of which file: the read-before-write guard of one agent."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.protocol.errors import BaseChanged, ToolError
from agent_tui.toolkit.ranges import LineRanges

HASH_LIMIT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Stamp:
    """What a file was when it was read: the fields of `os.stat_result` of those names, `size` in bytes.

    `dev` and `ino` name the file, whatever its path. `sha256` is hex, "" above 8 MiB.
    """

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str = ""

    @classmethod
    def of(cls, status: os.stat_result, sha256: str = "") -> "Stamp":
        """Take the stamp from a descriptor's status."""
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, sha256
        )

    def same_content(self, other: "Stamp") -> bool:
        """Tell whether both stand for the same bytes: by hash where both have one, else by identity and times."""
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return self.identity == other.identity

    @property
    def identity(self) -> tuple[int, int, int, int, int]:
        """Give everything but the hash."""
        return (self.dev, self.ino, self.size, self.mtime_ns, self.ctime_ns)


@dataclass
class _Known:
    """What the agent knows of one file. `shown` counts lines that were shown in this round, `settled` before it."""

    stamp: Stamp
    total_lines: int | None
    shown: LineRanges = field(default_factory=LineRanges)
    settled: LineRanges = field(default_factory=LineRanges)


@dataclass
class _Approved:
    """What an approval said of one call. `hunks` are 0-based; None accepts all.

    `asked` names the files that any preview of the call which a person approved was about.
    """

    bases: Mapping[str, str]
    hunks: tuple[int, ...] | None = None
    asked: frozenset[str] = frozenset()


class FileTracker:
    """Remembers reads and planned changes of one agent; keys are real paths.

    Tools run in threads of their own, so every method takes the lock. With `trusting` each file counts as read: for a
    person at the keyboard.
    """

    def __init__(self, *, trusting: bool = False) -> None:
        self._trusting = trusting
        self._lock = threading.RLock()
        self._known: dict[Path, _Known] = {}
        self._announced: set[Path] = set()
        self._plans: dict[str, dict[Path, bytes | None]] = {}
        self._approved: dict[str, _Approved] = {}
        self._bound: dict[tuple[str, str], Path] = {}

    def start_round(self) -> None:
        """Begin a round: reads so far become reads of earlier rounds, plans and approvals are dropped."""
        with self._lock:
            for known in self._known.values():
                known.settled = known.settled.union(known.shown)
                known.shown = LineRanges()
            self._announced.clear()
            self._plans.clear()
            self._approved.clear()
            self._bound.clear()

    # What an approval binds a call to.

    def expect(self, call_id: str, bases: Mapping[str, str]) -> None:
        """Bind `call_id` to `bases`: real path -> SHA-256 (hex, "" for no file) its approved preview started from.

        They are empty before a second review.
        """
        with self._lock:
            before = self._approved.get(call_id)
            asked = frozenset([*bases, *(before.asked if before else ())])
            self._approved[call_id] = _Approved(bases=dict(bases), asked=asked)

    def accept_hunks(self, call_id: str, hunks: Sequence[int] | None) -> None:
        """Bind `call_id` to the `hunks` of its preview that the person accepted (0-based); None accepts all."""
        with self._lock:
            approved = self._approved.setdefault(call_id, _Approved(bases={}))
            approved.hunks = None if hunks is None else tuple(hunks)

    def accepted_hunks(self, call_id: str) -> tuple[int, ...] | None:
        """Give the hunks the person accepted, None for all."""
        with self._lock:
            approved = self._approved.get(call_id)
            return approved.hunks if approved else None

    def check_base(self, call_id: str, path: Path, sha256: str) -> None:
        """Compare what is at `path` ("" when nothing is) with what was approved. Raises BaseChanged."""
        with self._lock:
            approved = self._approved.get(call_id)
            if approved is None or approved.bases.get(str(path), sha256) == sha256:
                return
            self.replan()
        raise BaseChanged(path)

    def covers(self, call_id: str, path: Path) -> bool:
        """Tell whether a person approved a preview of `call_id` that started from a content of `path`."""
        with self._lock:
            approved = self._approved.get(call_id)
            return approved is not None and str(path) in approved.bases

    # Where the paths of a call lead.

    def bind(self, call_id: str, given: str, real: Path) -> None:
        """Hold `call_id` to `real` for the spelling `given`."""
        with self._lock:
            self._bound[call_id, given] = real

    def unbind(self, call_id: str, given: str) -> None:
        """Let `given` be resolved anew."""
        with self._lock:
            self._bound.pop((call_id, given), None)

    def bound(self, call_id: str, given: str) -> Path | None:
        """Give what `bind` was told, None when nothing."""
        with self._lock:
            return self._bound.get((call_id, given))

    # What earlier calls of the round will have done when a call's turn comes.

    def announce_read(self, path: Path) -> None:
        """Say that a call of this round will read `path`, so that a later call's preview may count on it."""
        with self._lock:
            self._announced.add(path)

    def plan(self, call_id: str, contents: Mapping[Path, bytes | None]) -> None:
        """Say what files will hold after `call_id`: `contents` by real path, None for deleted.

        Previews of later calls start there.
        """
        with self._lock:
            self._plans[call_id] = dict(contents)

    def is_planned(self, call_id: str, path: Path) -> bool:
        """Tell whether a call before `call_id` plans to change `path`."""
        with self._lock:
            return any(path in plan for plan in self._plans_before(call_id))

    def planned(self, call_id: str, path: Path) -> bytes | None:
        """Give what `path` holds after the calls before `call_id`; None when deleted. Ask `is_planned` first."""
        with self._lock:
            return next(plan[path] for plan in reversed(self._plans_before(call_id)) if path in plan)

    def replan(self) -> None:
        """Drop all plans: previews from here on start at what is on disk. Done by itself when a base changed."""
        with self._lock:
            self._plans.clear()

    def _plans_before(self, call_id: str) -> list[dict[Path, bytes | None]]:
        before: list[dict[Path, bytes | None]] = []
        for planner, plan in self._plans.items():
            if planner == call_id:
                break
            before.append(plan)
        return before

    # What the agent knows.

    def saw(self, path: Path, stamp: Stamp, shown: LineRanges, *, total_lines: int | None) -> None:
        """Record a successful text read. `total_lines` is None when the end was not looked for."""
        with self._lock:
            known = self._known.get(path)
            if known is None or not known.stamp.same_content(stamp):
                known = self._known[path] = _Known(stamp, total_lines)
            known.stamp = stamp
            known.total_lines = total_lines if total_lines is not None else known.total_lines
            known.shown = known.shown.union(shown)

    def wrote(self, path: Path, stamp: Stamp, known_lines: LineRanges, *, total_lines: int) -> None:
        """Record an own write; `known_lines` are the lines of the new content that the agent knows."""
        with self._lock:
            self._known[path] = _Known(stamp, total_lines, settled=known_lines)

    def forget(self, path: Path) -> None:
        """Record that nothing is at `path` any more, as the agent knows."""
        with self._lock:
            self._known.pop(path, None)

    def known_lines(self, path: Path, stamp: Stamp) -> LineRanges:
        """Give the lines of the content of `stamp` that were shown so far, this round included."""
        with self._lock:
            known = self._known.get(path)
            if known is None or not known.stamp.same_content(stamp):
                return LineRanges()
            return known.settled.union(known.shown)

    def guard(self, path: Path, stamp: Stamp, *, call_id: str, shown: str, planning: bool = False) -> None:
        """Refuse a change of a file that was not read, or changed since. `shown` names it in the text.

        While `planning`, a read that stands before in the same round counts. Somebody else's change between
        approval and write leads to a second review: there the person sees what the call does to the new content.
        Raises ToolError.
        """
        with self._lock:
            known = self._known.get(path)
            if self._trusting or (planning and path in self._announced):
                return
            if known is None:
                raise ToolError(f"{shown} has not been read yet. Read it first, then try again.")
            if known.stamp.same_content(stamp) or self._was_seen(call_id, path, stamp, planning=planning):
                return
            raise ToolError(_changed(shown))

    def _was_seen(self, call_id: str, path: Path, stamp: Stamp, *, planning: bool) -> bool:
        """Tell whether a person saw, or is about to see, what the call does to this very content."""
        approved = self._approved.get(call_id)
        if approved is None:
            return False
        return str(path) in approved.asked if planning else approved.bases.get(str(path)) == stamp.sha256

    def guard_whole(self, path: Path, stamp: Stamp, *, shown: str) -> None:
        """Refuse to replace a file of which earlier rounds did not show every line. Raises ToolError."""
        with self._lock:
            known = self._known.get(path)
            if self._trusting:
                return
            if known is None:
                raise ToolError(
                    f"{shown} exists and has not been read yet. Read all of it first, then try again."
                )
            if not known.stamp.same_content(stamp):
                raise ToolError(_changed(shown))
            missing = known.settled.missing(known.total_lines)
            if missing and not known.settled.union(known.shown).missing(known.total_lines):
                raise ToolError(
                    f"{shown} was read in this same round; a write must follow in a later one, "
                    "once you saw what it holds."
                )
            if missing:
                raise ToolError(
                    f"{shown} was not shown whole: {missing} not seen. Read the rest first, or use edit or patch."
                )

    def guard_absent(self, path: Path, *, shown: str) -> None:
        """Refuse to create a file that the agent read and that was deleted by somebody else. Raises ToolError."""
        with self._lock:
            if path in self._known and not self._trusting:
                raise ToolError(
                    f"{shown} was deleted since it was read. Read it again to see what is there, then try again."
                )


def _changed(shown: str) -> str:
    return f"{shown} was modified since it was read. Read it again, then try again."

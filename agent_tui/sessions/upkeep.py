"""Looks after the folder of sessions: names damage, removes what the person wants gone."""

import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_tui.protocol.errors import SessionError
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.encoding import as_objects
from agent_tui.sessions.frames import META_TYPES, RawRecord, read_frames, text_of, unread_version
from agent_tui.sessions.info import SessionInfo
from agent_tui.sessions.lock import SessionLock
from agent_tui.sessions.packs import packs_in
from agent_tui.sessions.restore import typed
from agent_tui.sessions.store import CHECKPOINTS, SessionStore
from agent_tui.sessions.trees import TreeStore

_DAY_S = 86_400
_YOUNG_S = 3600


@dataclass(frozen=True)
class Removed:
    """What a clean-up took away."""

    blobs: int = 0
    leftovers: int = 0
    size_bytes: int = 0


def verify(path: Path, blobs: Blobs) -> list[str]:
    """Name what is wrong with a session file, one sentence each; [] when it is sound. Raises OSError."""
    frames = read_frames(path.read_bytes())
    found = [f"line {damage.line}: {damage.reason}" for damage in frames.damage]
    if not frames.records or frames.records[0].get("type") != "header":
        found.append("line 1: the header is missing")
    if unread_version(frames.records):
        found.append("the file was written by a newer agent-tui")
        return found
    found += _lost_parents(frames.records)
    found += [
        f"a stored text is missing or damaged: {name}"
        for name in _blobs_of(frames.records)
        if blobs.get(name) is None
    ]
    unread = sum(record is None for record in typed(frames.records, blobs))
    if unread:
        found.append(f"{unread} record(s) could not be understood")
    return found


def delete(store: SessionStore, session_id: str) -> None:
    """Remove a session with its outputs for good. Raises SessionInUseError while it is open, SessionError."""
    path = store.path_of(session_id)
    lock = SessionLock.acquire(path.with_suffix(".lock"))
    try:
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        path.with_suffix(".lock").unlink(missing_ok=True)
    except OSError as error:
        raise SessionError(f"cannot be removed: {error.strerror or error}", path=path) from error
    finally:
        lock.release()


def older_than(infos: Iterable[SessionInfo], days: float, *, now: float | None = None) -> list[SessionInfo]:
    """Give the sessions that were not written for `days` days."""
    limit = (time.time() if now is None else now) - days * _DAY_S
    return [info for info in infos if info.changed_at < limit]


def collect_garbage(store: SessionStore, *, dry_run: bool = False) -> Removed:
    """Remove stored texts that no session names, and what is left of sessions that are gone. Raises OSError.

    A text that was stored within the last hour stays: its record may be on its way.
    """
    checkpoints = Blobs(store.root / CHECKPOINTS)
    trees, used, states = TreeStore(checkpoints), set[str](), set[str]()
    for path in store.paths():
        records = read_frames(path.read_bytes()).records
        used.update(_blobs_of(records))
        for record in records:
            if record.get("type") == "checkpoint":
                states |= trees.references(text_of(record, "tree"))
    blobs = [*_unused(store.blobs, used), *_unused(checkpoints, states)]
    leftovers = list(_leftovers(store))
    for pack in packs_in(store.root / CHECKPOINTS):
        young = pack.index.stat().st_mtime > time.time() - _YOUNG_S
        if not young and states.isdisjoint(pack.places()):
            blobs += [pack.index, pack.data]
    size = sum(path.stat().st_size for path in blobs)
    if not dry_run:
        for path in blobs:
            path.unlink(missing_ok=True)
        for path in leftovers:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    return Removed(len(blobs), len(leftovers), size)


def _unused(blobs: Blobs, used: set[str]) -> Iterator[Path]:
    young = time.time() - _YOUNG_S
    for name in blobs.names():
        path = blobs.path(name)
        if name not in used and path.stat().st_mtime < young:
            yield path


def _blobs_of(records: Iterable[RawRecord]) -> Iterator[str]:
    for record in records:
        for place in as_objects(record.get("blobs")):
            yield text_of(place, "blob")


def _lost_parents(records: list[RawRecord]) -> Iterator[str]:
    ids = {""} | {text_of(record, "id") for record in records}
    for record in records:
        if record.get("type") not in META_TYPES and text_of(record, "parent") not in ids:
            yield f"the entry before {text_of(record, 'id')} is lost"


def _leftovers(store: SessionStore) -> Iterator[Path]:
    """Find locks and output folders whose session file is gone."""
    kept = {path.with_suffix("") for path in store.paths()}
    for folder in {path.parent for path in store.paths()}:
        for path in folder.iterdir():
            stem = path if path.is_dir() else path.with_suffix("")
            if path.suffix in ("", ".lock", ".owner") and stem not in kept:
                yield path

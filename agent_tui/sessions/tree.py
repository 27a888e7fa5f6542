"""The tree of a session's entries: where one can go back to, and undo and redo as moves in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.sessions.frames import META_TYPES, RawRecord, active_path, text_of
from agent_tui.sessions.info import title_of

UNDO = "undo"
REDO = "redo"
BEFORE, AFTER = "before", "after"
"""Labels of the checkpoints around a round."""
RESTORED = "restored"
"""Label of the checkpoint that a move back leaves."""


@dataclass(frozen=True)
class TreePoint:
    """A prompt in the tree.

    `entry_id` is the prompt's entry, `before` the entry to move to in order to be as before it ("" is the start).
    `depth` counts the prompts above it, `active` says that it is on the active path. `at` is POSIX seconds.
    """

    entry_id: str
    before: str
    title: str
    at: float
    depth: int
    active: bool
    label: str = ""


def points(records: Sequence[RawRecord]) -> list[TreePoint]:
    """List all prompts of the tree, in the order of the file."""
    active = {text_of(record, "id") for record in active_path(records)}
    labels = {text_of(r, "target"): text_of(r, "label") for r in records if r.get("type") == "label"}
    depths: dict[str, int] = {"": 0}
    found: list[TreePoint] = []
    for record in records:
        if record.get("type") in META_TYPES:
            continue
        entry_id, parent = text_of(record, "id"), text_of(record, "parent")
        depth = depths.get(parent, 0)
        is_prompt = record.get("type") == "user" and bool(text_of(record, "text"))
        depths[entry_id] = depth + is_prompt
        if is_prompt:
            at = record.get("at")
            found.append(
                TreePoint(
                    entry_id=entry_id,
                    before=parent,
                    title=title_of(text_of(record, "text")),
                    at=float(at) if isinstance(at, int | float) else 0.0,
                    depth=depth,
                    active=entry_id in active,
                    label=labels.get(entry_id, ""),
                )
            )
    return found


def undo_target(records: Sequence[RawRecord]) -> str | None:
    """Give the entry to move to (with why "undo") to be as before the last prompt; None when there is none."""
    for record in reversed(active_path(records)):
        if record.get("type") == "user" and text_of(record, "text"):
            return text_of(record, "parent")
    return None


def redo_target(records: Sequence[RawRecord]) -> str | None:
    """Give the entry that the last undo left (to move to with why "redo"); None when nothing is undone.

    Any new entry ends what could be redone.
    """
    leaf = ""
    undone: list[str] = []
    for record in records:
        kind = record.get("type")
        if kind == "leaf":
            why = text_of(record, "why")
            if why == UNDO:
                undone.append(leaf)
            elif why == REDO and undone:
                undone.pop()
            else:
                undone.clear()
            leaf = text_of(record, "target")
        elif kind not in META_TYPES:
            if kind != "checkpoint":  # putting files back leaves one
                undone.clear()
            leaf = text_of(record, "id")
    return undone[-1] if undone else None


def files_before(records: Sequence[RawRecord], entry_id: str) -> str | None:
    """Give the tree of the files as they were before the prompt `entry_id`; None when nothing was changed since.

    That is the first checkpoint after it on the active path: it was taken just before the first change.
    """
    record = _first_checkpoint(records, entry_id)
    return text_of(record, "tree") if record else None


def by_hand_before(records: Sequence[RawRecord], entry_id: str) -> set[str]:
    """Give the paths that were the person's work in the tree that `files_before` gives."""
    record = _first_checkpoint(records, entry_id)
    return _paths(record, "changed") if record and record.get("label") == BEFORE else set()


def _first_checkpoint(records: Sequence[RawRecord], entry_id: str) -> RawRecord | None:
    after = False
    for record in active_path(records):
        after = after or record.get("id") == entry_id
        if after and record.get("type") == "checkpoint":
            return record
    return None


def files_after(records: Sequence[RawRecord], entry_id: str) -> list[str]:
    """Give the trees of all checkpoints after the prompt `entry_id` on the active path, oldest first."""
    after, found = False, list[str]()
    for record in active_path(records):
        after = after or record.get("id") == entry_id
        if after and record.get("type") == "checkpoint":
            found.append(text_of(record, "tree"))
    return found


def files_at(records: Sequence[RawRecord], entry_id: str) -> str | None:
    """Give the tree of the files as the agent left them at the entry `entry_id`; None when none was taken."""
    for record in reversed(active_path(records, entry_id)):
        if record.get("type") == "checkpoint":
            return text_of(record, "tree")
    return None


def last_files(records: Sequence[RawRecord]) -> str:
    """Give the tree of the newest checkpoint in the file, on whatever branch: the last state the agent knew."""
    trees = [text_of(record, "tree") for record in records if record.get("type") == "checkpoint"]
    return trees[-1] if trees else ""


def first_files(records: Sequence[RawRecord]) -> str | None:
    """Give the tree of the files as they were before the first change on the active path; None when none was made."""
    for record in active_path(records):
        if record.get("type") == "checkpoint":
            return text_of(record, "tree")
    return None


def doubtful_files(records: Sequence[RawRecord], entry_id: str) -> set[str]:
    """Give the paths that something else than the agent's calls may have changed, after `entry_id` on the active path.

    That is what changed while a background job ran, what was different when a round began from how the one before
    left it, and what an earlier move left alone: the person's own work.
    """
    found = files_left(records)
    after, began = False, False
    for record in active_path(records):
        after = after or record.get("id") == entry_id
        if not after or record.get("type") != "checkpoint":
            continue
        if began and (record.get("doubtful") or record.get("label") == BEFORE):
            found.update(_paths(record, "changed"))
        began = True
    return found


def files_left(records: Sequence[RawRecord]) -> set[str]:
    """Give the paths that moves back left alone and that none has put back since."""
    found: set[str] = set()
    for record in records:
        if record.get("type") == "checkpoint" and record.get("label") == RESTORED:
            found -= _paths(record, "changed")
            found |= _paths(record, "left")
    return found


def _paths(record: RawRecord, key: str) -> set[str]:
    value = record.get(key)
    return {path for path in value if isinstance(path, str)} if isinstance(value, list) else set()


def branch_end(records: Sequence[RawRecord], entry_id: str) -> str:
    """Give the newest entry of the branches that go on from `entry_id`, itself when none does."""
    below, end = {entry_id}, entry_id
    for record in records:
        if record.get("type") not in META_TYPES and text_of(record, "parent") in below:
            end = text_of(record, "id")
            below.add(end)
    return end

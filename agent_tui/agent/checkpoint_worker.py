"""The child process that reads and restores files: one JSON request a line on stdin, one answer a line on stdout.

Started as `python -I -m agent_tui.agent.checkpoint_worker ROOT BLOBS`; ends when stdin ends.
"""

import gc
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from agent_tui.agent.file_state import Difference, FileState
from agent_tui.sessions.encoding import as_object
from agent_tui.sessions.frames import Json, RawRecord, text_of
from agent_tui.sessions.packs import PackedBlobs
from agent_tui.sessions.store import project_folder
from agent_tui.sessions.trees import FILE, Entry, Tree


def main(root: Path, blobs: Path) -> int:
    """Serve requests until stdin ends."""
    gc.disable()  # it makes no cycles, and looking through 50,000 entries takes as long as a scan
    worker = _Worker(root, PackedBlobs(blobs, project_folder(root)))
    for line in sys.stdin:
        try:
            answer = worker.answer(as_object(cast("Json", json.loads(line))))
        except (OSError, ValueError) as error:
            answer = {"error": str(error)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    return 0


class _Worker:
    """Answers requests about one workspace."""

    def __init__(self, root: Path, blobs: PackedBlobs) -> None:
        self._state = FileState(root, blobs)
        self._last: tuple[str, Tree] | None = None

    def answer(self, request: RawRecord) -> RawRecord:
        """Do what `op` asks for."""
        self._state.extra.update(_strings(request.get("extra")))
        match request.get("op"):
            case "look":
                self._state.read()  # what it learns makes the first checkpoint quick
                return {}
            case "take":
                return self._take(text_of(request, "since"))
            case "plan":
                _, found, lost = self._plan(request)
                return {"lost": lost, "differences": [_shown(difference) for difference in found]}
            case "restore":
                return self._restore(request)
            case "compare":
                return self._compare(text_of(request, "tree"), text_of(request, "other"))
            case "mix":
                return self._mix(request)
            case _:
                return {"error": "unknown request"}

    def _take(self, since: str) -> RawRecord:
        before = self._last
        if since and (before is None or before[0] != since):  # a look in between is no checkpoint
            stored = self._state.tree(since)
            before = before if stored is None else (since, stored)
        name, tree = self._state.read()
        self._last = (name, tree)
        changed: list[str] = []
        if before is not None and before[0] != name:
            old = before[1]
            new = {
                path for path in tree.beside if not old.knows(path)
            }  # covered from now on: that is no change
            paths = {*old.entries, *tree.entries} - new
            changed = sorted(p for p in paths if old.entries.get(p) != tree.entries.get(p))
        return {
            "tree": name,
            "changed": cast("Json", changed),
            "uncovered": cast("Json", tree.uncovered),
            "capped": tree.capped,
            "files": len(tree.entries),
        }

    def _plan(self, request: RawRecord) -> tuple[str, list[Difference], bool]:
        name, now = self._state.read()
        self._last = (name, now)
        then = self._state.tree(text_of(request, "tree"))
        last = self._state.tree(text_of(request, "last")) if request.get("last") else None
        if then is None:
            return name, [], True
        self._complete(then, now, _strings(request.get("later")))
        doubtful = set(_strings(request.get("doubtful")))
        return name, self._state.differences(now, then, last, doubtful), False

    def _complete(self, then: Tree, now: Tree, later: Sequence[str]) -> None:
        """Take what was beside the scan, and was covered only later, from the first state that knows of it.

        `later` are the trees after `then`, oldest first: nothing had changed such a file before the first of them.
        """
        unknown = [path for path in now.beside if not then.knows(path)]
        for name in dict.fromkeys(later):
            if not unknown:
                return
            tree = self._state.tree(name)
            for path in [path for path in unknown if tree is not None and tree.knows(path)]:
                assert tree is not None  # it knows the path
                _put(then, path, tree.entries.get(path))
                then.beside.append(path)
                unknown.remove(path)

    def _restore(self, request: RawRecord) -> RawRecord:
        before, found, lost = self._plan(request)
        allowed = set(_strings(request.get("allowed")))
        only = _strings(request.get("only"))
        if only:
            found = [difference for difference in found if difference.path in set(only)]
        left = self._state.apply(found, allowed)
        name, tree = self._state.read()
        self._last = (name, tree)
        skipped = {path for path, _ in left}
        return {
            "lost": lost,
            "before": before,
            "tree": name,
            "changed": [d.path for d in found if d.path not in skipped],
            "left": [[path, why] for path, why in left],
        }

    def _compare(self, name: str, other: str) -> RawRecord:
        one, two = self._state.tree(name), self._state.tree(other)
        if one is None or two is None:
            return {"lost": True, "differences": []}
        paths = sorted({*one.entries, *two.entries})
        found = [Difference(p, one.entries.get(p), two.entries.get(p)) for p in paths]
        return {"lost": False, "differences": [_shown(d) for d in found if d.now != d.then]}

    def _mix(self, request: RawRecord) -> RawRecord:
        """Store the tree `tree` with `paths` as they are in `other` and with `files` in the place of what is there."""
        one = self._state.tree(text_of(request, "tree"))
        paths = _strings(request.get("paths"))
        two = self._state.tree(text_of(request, "other")) if paths else Tree()
        if one is None or two is None:
            return {"lost": True}
        mixed = Tree(dict(one.entries), at_ns=one.at_ns)
        for path in paths:
            _put(mixed, path, two.entries.get(path))
        covered = set(one.uncovered)
        for path, values in as_object(request.get("files")).items():
            if path not in covered:
                _put(mixed, path, _wanted(as_object(values), one.entries.get(path)))
        return {"tree": self._state.keep(mixed)}


def _put(tree: Tree, path: str, entry: Entry | None) -> None:
    if entry is None:
        tree.entries.pop(path, None)
    else:
        tree.entries[path] = entry


def _wanted(values: RawRecord, now: Entry | None) -> Entry | None:
    """Read an entry; of its mode only the right to execute counts, as git has it, where the file is there."""
    kind, mode, ref = text_of(values, "kind"), values.get("mode"), text_of(values, "ref")
    if not kind or not isinstance(mode, int):
        return None
    if now is not None and kind == now.kind and (now.mode ^ mode) & 0o100 == 0:
        mode = now.mode
    return Entry(kind, mode, ref)


def _shown(difference: Difference) -> RawRecord:
    return {
        "path": difference.path,
        "now": _entry(difference.now),
        "then": _entry(difference.then),
        "conflict": difference.conflict,
    }


def _entry(entry: Entry | None) -> Json:
    if entry is None:
        return None
    return {"kind": "file" if entry.kind == FILE else "link", "mode": entry.mode, "ref": entry.ref}


def _strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))

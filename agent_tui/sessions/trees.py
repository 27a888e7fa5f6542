"""States of files by content: a tree names each file's kind, mode and blob, and is stored as a difference."""

import json
from dataclasses import dataclass, field
from typing import cast

from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.encoding import as_object
from agent_tui.sessions.frames import Json
from agent_tui.sessions.packs import PackedBlobs

_MAX_CHAIN = 20

FILE, LINK = "f", "l"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file (its content is blob `ref`) or a symlink (`ref` is its target). `mode` holds permission bits."""

    kind: str
    mode: int
    ref: str


@dataclass
class Tree:
    """A state of files by path. `uncovered` are files that were there and are not part of it; `capped` says that
    there were more. `beside` are paths that were covered beside what a scan finds, whether there was a file or not.
    `at_ns` is when it was read (POSIX nanoseconds)."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    uncovered: list[str] = field(default_factory=list[str])
    capped: bool = False
    at_ns: int = 0
    beside: list[str] = field(default_factory=list[str])

    def knows(self, path: str) -> bool:
        """Tell whether it says of a path beside the scan what was there, be it nothing."""
        return path in self.entries or path in self.beside


class TreeStore:
    """Keeps trees in blobs; each but every 20th is the difference to the one before."""

    def __init__(self, blobs: Blobs | PackedBlobs) -> None:
        self._blobs = blobs
        self._last: tuple[str, Tree, int] = ("", Tree(), 0)

    def put(self, tree: Tree) -> str:
        """Store a tree and give its id. Raises OSError."""
        base, before, depth = self._last
        same = tree.entries == before.entries and tree.uncovered == before.uncovered
        if base and same and tree.beside == before.beside:
            return base
        if not base or depth >= _MAX_CHAIN:
            base, before, depth = "", Tree(), 0
        changed = {path: entry for path, entry in tree.entries.items() if before.entries.get(path) != entry}
        facts: Json = {
            "base": base,
            "changed": {path: [entry.kind, entry.mode, entry.ref] for path, entry in changed.items()},
            "gone": [path for path in before.entries if path not in tree.entries],
            "uncovered": cast("Json", tree.uncovered),
            "capped": tree.capped,
            "at_ns": tree.at_ns,
            "beside": cast("Json", tree.beside),
        }
        name = self._blobs.put(json.dumps(facts))
        kept = Tree(dict(tree.entries), list(tree.uncovered), tree.capped, tree.at_ns, list(tree.beside))
        self._last = (name, kept, depth + 1)
        return name

    def get(self, name: str) -> Tree | None:
        """Give the tree with the id `name`, None when it, or one it builds on, is lost."""
        if not name:
            return Tree()
        text = self._blobs.get(name)
        if text is None:
            return None
        facts = as_object(cast("Json", json.loads(text)))
        base = self.get(cast("str", facts.get("base") or ""))
        if base is None:
            return None
        for path in cast("list[str]", facts.get("gone") or []):
            base.entries.pop(path, None)
        for path, values in as_object(facts.get("changed")).items():
            kind, mode, ref = cast("tuple[str, int, str]", values)
            base.entries[path] = Entry(kind, mode, ref)
        base.uncovered = cast("list[str]", facts.get("uncovered") or [])
        base.capped = bool(facts.get("capped"))
        base.at_ns = cast("int", facts.get("at_ns") or 0)
        base.beside = cast("list[str]", facts.get("beside") or [])
        return base

    def references(self, name: str) -> set[str]:
        """Give the blobs that the tree `name` needs: its own chain and its files."""
        needed: set[str] = set()
        link = name
        while link and link not in needed:
            needed.add(link)
            text = self._blobs.get(link)
            link = cast("str", as_object(cast("Json", json.loads(text))).get("base") or "") if text else ""
        tree = self.get(name)
        if tree is not None:
            needed.update(entry.ref for entry in tree.entries.values() if entry.kind == FILE)
        return needed

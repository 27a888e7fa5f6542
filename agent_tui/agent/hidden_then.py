"""Tells which files an earlier state may have held without covering them, since its own rules ignored them."""

import codecs
from collections.abc import Callable, Sequence

from agent_tui.agent.file_scan import Rules, ignored
from agent_tui.sessions.trees import FILE, Tree
from agent_tui.toolkit.ignore_rules import IGNORE_NAME, IgnoreFile


class HiddenThen:
    """Looks at paths with the ignore files of `then`; `above` are the rules from outside, `read` gives a content."""

    def __init__(self, then: Tree, above: Sequence[Rules], read: Callable[[str], bytes | None]) -> None:
        self._then = then
        self._above = tuple(above)
        self._read = read
        self._files: dict[str, IgnoreFile | None] = {}
        self._lost = any(path.rsplit("/", 1)[-1] == IGNORE_NAME for path in then.uncovered)

    def __call__(self, path: str) -> bool:
        """Tell whether a file at `path` would not have been covered then; True when that is not known."""
        if self._lost:
            return True
        rules, folder = list(self._above), ""
        parts = path.split("/")
        for depth, part in enumerate(parts):
            own = self._ignore_file(folder)
            if self._lost:
                return True
            if own is not None:
                rules.append((own, len(folder), ""))
            shown = part if depth == len(parts) - 1 else f"{part}/"
            if rules and ignored(rules, shown, folder + shown):
                return True
            folder += shown
        return False

    def _ignore_file(self, folder: str) -> IgnoreFile | None:
        if folder not in self._files:
            entry = self._then.entries.get(folder + IGNORE_NAME)
            data = self._read(entry.ref) if entry is not None and entry.kind == FILE else None
            self._lost = self._lost or (entry is not None and data is None)
            text = None if data is None else data.removeprefix(codecs.BOM_UTF8).decode("latin-1")
            self._files[folder] = None if text is None else IgnoreFile(text)
        return self._files[folder]

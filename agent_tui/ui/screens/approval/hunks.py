"""Accepts some hunks of a change and leaves others."""

from __future__ import annotations

from textual.content import Content

from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean
from agent_tui.ui.screens.approval.preview import diff_of
from agent_tui.ui.screens.approval.round import Row


class HunkChoice:
    """Which hunks of one call are taken; at first all that were taken before."""

    def __init__(self, row: Row) -> None:
        self.row = row
        count = row.hunk_count
        self._taken = set(range(count)) if row.hunks is None else set(row.hunks)
        self._names = hunk_names(diff_of(row), count)

    @property
    def any_taken(self) -> bool:
        """Whether anything is left to do."""
        return bool(self._taken)

    def toggle(self, index: int) -> None:
        """Take or leave one hunk."""
        self._taken.symmetric_difference_update({index})

    def rows(self) -> list[Content]:
        """Draw the hunks, one line each."""
        return [
            spans(("[x] " if index in self._taken else "[ ] ", "$accent"), name)
            for index, name in enumerate(self._names)
        ]

    def apply(self) -> None:
        """Keep the choice; taking all is the same as not choosing."""
        everything = len(self._taken) == self.row.hunk_count
        self.row.hunks = None if everything or not self._taken else tuple(sorted(self._taken))


def hunk_names(diff: str, count: int) -> list[str]:
    """Name each hunk of a unified diff by its place and its first changed line."""
    names: list[str] = []
    place = ""
    for line in diff.split("\n"):
        if line.startswith("@@"):
            place = line.split("@@")[1].strip()
        elif place and line[:1] in ("+", "-"):
            names.append(f"{place}  {clean(line)}")
            place = ""
    return names[:count] + [f"hunk {index + 1}" for index in range(len(names), count)]

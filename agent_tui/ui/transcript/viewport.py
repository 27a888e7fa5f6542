"""Which rows are on screen: measuring blocks as they come into sight while what is read stands still."""

from __future__ import annotations

from agent_tui.ui.transcript.document import Document

ROUNDS = 60


class Viewport:
    """The window of `height` rows from row `top` on. Heights above it are guesses until they were seen."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.height = 0
        self.top = 0

    @property
    def limit(self) -> int:
        """The highest value of `top`."""
        return max(0, self._document.heights.total - self.height)

    @property
    def at_end(self) -> bool:
        """Whether the last row is in sight."""
        return self.top >= self.limit

    def to_end(self) -> None:
        """Show the last row."""
        for _ in range(ROUNDS):
            self.top = self.limit
            if not self._measure(self.top):
                return

    def move(self, top: int) -> None:
        """Show row `top` first. On a short way the old first row keeps its distance, whatever is measured."""
        document = self._document
        near = abs(top - self.top) <= 2 * self.height
        still = document.heights.find(self.top if near else top)[0]
        before = document.heights.before(still)
        for _ in range(ROUNDS):
            top = max(0, min(top, self.limit))
            if not self._measure(top):
                break
            after = document.heights.before(still)
            top += after - before
            before = after
        self.top = max(0, min(top, self.limit))

    def hold(self) -> None:
        """Measure what is in sight and keep the first row in its place."""
        self.move(self.top)

    def shifted(self, index: int, grown: int) -> None:
        """Follow a block that grew: what stands below it in sight stays where it is."""
        if grown and len(self._document) and index < self._document.heights.find(self.top)[0]:
            self.top = max(0, self.top + grown)

    def _measure(self, top: int) -> bool:
        """Measure the blocks in sight; says whether a height changed."""
        document, changed = self._document, False
        if not document.blocks:
            return False
        index, inside = document.heights.find(top)
        row = top - inside
        while index < len(document) and row < top + self.height:
            changed = bool(document.measure(index)) or changed
            row += document.heights[index]
            index += 1
        return changed

    def thumb(self) -> range:
        """Give the rows of the window on which the scrollbar's thumb stands; empty when all is in sight."""
        total = self._document.heights.total
        if self.height <= 0 or total <= self.height:
            return range(0)
        size = max(1, self.height * self.height // total)
        start = round((self.height - size) * self.top / max(1, total - self.height))
        return range(start, start + size)

    def row_at_thumb(self, y: int, grip: int) -> int:
        """Give the `top` for which the thumb, held at its row `grip`, is under row `y` of the window."""
        total = self._document.heights.total
        size = len(self.thumb())
        return round((y - grip) * max(0, total - self.height) / max(1, self.height - size))

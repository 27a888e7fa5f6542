"""Long pastes as one short word in the prompt, which is replaced by the text when it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable

FOLD_CHARS = 800
FOLD_LINES = 2

_NO_BREAK = "\u00a0"


def folds(text: str) -> bool:
    """Tell whether a paste is long enough to be folded: over 800 characters or over 2 lines."""
    return len(text) > FOLD_CHARS or text.count("\n") >= FOLD_LINES


class Chips:
    """The folded pastes of a prompt.

    A chip's label holds no-break spaces and a number that is used once, so that a look-alike typed by hand is
    text, and a pasted copy of a label is defused.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    def fold(self, text: str) -> str:
        """Keep `text` and give the label that stands for it."""
        self._count += 1
        lines = text.count("\n") + 1
        size = f"{lines} lines" if lines > 1 else f"{len(text):,} characters"
        label = f"[pasted {size} #{self._count}]".replace(" ", _NO_BREAK)
        self._texts[label] = text
        return label

    def expand(self, text: str) -> str:
        """Put every folded text in its place."""
        if not self._texts or _NO_BREAK not in text:
            return text
        pattern = "|".join(map(re.escape, self._texts))
        return re.sub(pattern, lambda found: self._texts[found.group()], text)

    def defuse(self, text: str) -> str:
        """Make labels that come from outside plain text."""
        for label in self._texts:
            text = text.replace(label, label.replace(_NO_BREAK, " "))
        return text

    def spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Give start and end of each chip in a line."""
        if _NO_BREAK not in line:
            return
        for label in self._texts:
            start = line.find(label)
            while start >= 0:
                yield start, start + len(label)
                start = line.find(label, start + len(label))

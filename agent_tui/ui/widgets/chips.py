"""Long pastes and images as one short word in the prompt, which is replaced by what it stands for when it is sent."""

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
    """The folded pastes and images of a prompt.

    A chip's label holds no-break spaces and a number that is used once, so that a look-alike typed by hand is
    text, and a pasted copy of a label is defused.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._sent: dict[str, str] = {}
        self._count = 0
        self._images = 0

    def fold(self, text: str) -> str:
        """Keep `text` and give the label that stands for it."""
        self._count += 1
        lines = text.rstrip("\n").count("\n") + 1
        size = f"{lines} lines" if lines > 1 else f"{len(text):,} characters"
        return self._keep(f"[pasted {size} #{self._count}]", text)

    def image(self, name: str) -> str:
        """Give the label that stands for the image the core keeps as `name`."""
        self._images += 1
        return self._keep(f"[image {self._images}]", f"@{name}")

    def _keep(self, words: str, text: str) -> str:
        label = words.replace(" ", _NO_BREAK)
        self._texts[label] = text
        return label

    def expand(self, text: str) -> str:
        """Put what each chip stands for in its place; an image's name gets the blanks that make it a word."""
        if not self._texts or _NO_BREAK not in text:
            return text
        pattern = "|".join(map(re.escape, self._texts))

        def whole(found: re.Match[str]) -> str:
            stands_for = self._texts[found.group()]
            if not stands_for.startswith("@"):
                return stands_for
            before = text[found.start() - 1 : found.start()]
            after = text[found.end() : found.end() + 1]
            return f"{' ' if before.strip() else ''}{stands_for}{' ' if after.strip() else ''}"

        return re.sub(pattern, whole, text)

    def send(self, text: str) -> str:
        """Expand a text that leaves the prompt, and know it again when it comes back."""
        whole = self.expand(text)
        if whole != text:
            self._sent[whole] = text
        return whole

    def recall(self, whole: str) -> str:
        """Give a text that was sent in this run as it was written, with its chips."""
        return self._sent.get(whole, whole)

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

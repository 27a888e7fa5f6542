"""What a program left switched on in a terminal, read from the bytes it wrote."""

import re

_SEQUENCE = re.compile(rb"\x1b\[(\?|[<>=])?([0-9;]*)([hlurmt])|\x1b\](\d+);([^\x07\x1b]*)(?:\x07|\x1b\\)")
NORMAL = {25: True, 7: True}


class Modes:
    """The state after `raw`: private modes that differ from a fresh terminal's, and the rest that can stay behind."""

    def __init__(self, raw: bytes) -> None:
        self.private: dict[int, bool] = {}
        self.keyboard_flags = 0
        self.titles = 0
        self.style = b""
        self.styles: list[str] = []
        self.has_region = False
        self.progress = b""
        for mark, numbers, final, osc, words in _SEQUENCE.findall(raw):
            self._take(mark, numbers, final, osc, words)

    def _take(self, mark: bytes, numbers: bytes, final: bytes, osc: bytes, words: bytes) -> None:
        if osc == b"9" and words.startswith(b"4;"):
            self.progress = words.split(b";")[1]
        elif mark == b"?" and final in (b"h", b"l"):
            self.private |= {int(number): final == b"h" for number in numbers.split(b";")}
        elif final == b"u" and mark in (b">", b"<"):
            self.keyboard_flags += 1 if mark == b">" else -1
        elif final == b"r" and not mark:
            self.has_region = bool(numbers)
        elif final == b"m" and not mark:
            self.style = b"" if numbers in (b"", b"0") else numbers
            self.styles.append(numbers.decode())
        elif final == b"t" and numbers[:2] in (b"22", b"23"):
            self.titles += 1 if numbers.startswith(b"22") else -1

    @property
    def changed(self) -> dict[str, object]:
        """What is not as in a fresh terminal; empty when all is."""
        modes = {f"?{n}": on for n, on in sorted(self.private.items()) if on != NORMAL.get(n, False)}
        rest = {
            "keyboard": self.keyboard_flags,
            "titles": self.titles,
            "style": self.style,
            "region": self.has_region,
            "progress": self.progress.strip(b"0"),
        }
        return {**modes, **{name: value for name, value in rest.items() if value}}

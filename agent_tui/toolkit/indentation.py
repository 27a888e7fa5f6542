"""How the indentation a model remembers differs from the one in the file, and the same change for its new text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_BLANKS = " \t"


@dataclass(frozen=True)
class Reindent:
    """One rule for all lines: each indentation in `known` becomes another; others follow the nearest known one.

    `added` is put before, or `removed` taken from, an indentation that starts with none of the known ones.
    Without `is_shift` the file indents in another style, such as tabs for spaces.
    """

    known: tuple[tuple[str, str], ...]
    added: str = ""
    removed: str = ""
    is_shift: bool = True

    @classmethod
    def between(cls, remembered: Sequence[str], actual: Sequence[str]) -> "Reindent | None":
        """Find the rule that turns the indentation of `remembered` into that of `actual`, None without one."""
        known: dict[str, str] = {}
        for old, real in zip(remembered, actual, strict=True):
            if old.strip(_BLANKS) and known.setdefault(indent_of(old), indent_of(real)) != indent_of(real):
                return None
        pairs = tuple(sorted(known.items(), key=lambda pair: -len(pair[0])))
        if not pairs:
            return None
        shortest_old, shortest_real = pairs[-1]
        if all(real == _shifted(old, shortest_old, shortest_real) for old, real in pairs):
            return cls(pairs, *_shift(shortest_old, shortest_real))
        return cls(pairs, is_shift=False) if _keeps_order(pairs) else None

    def apply(self, indent: str) -> str:
        """Give the indentation that stands for `indent`."""
        for old, real in self.known:
            if indent.startswith(old):
                return real + self._in_style(indent[len(old) :])
        if self.removed and indent.startswith(self.removed):
            return indent[len(self.removed) :]
        if self.removed and self.removed.startswith(indent):
            return ""
        return self.added + indent

    def _in_style(self, rest: str) -> str:
        """Write further indentation with the character the file uses, where one step of it is known."""
        if self.is_shift:
            return rest
        deeper = zip(self.known, (*self.known[1:], ("", "")), strict=True)
        for (old, real), (shorter, shorter_real) in deeper:
            step, real_step = old.removeprefix(shorter), real.removeprefix(shorter_real)
            if step and rest == step * (len(rest) // len(step)):
                return real_step * (len(rest) // len(step))
        return rest


def indent_of(line: str) -> str:
    """Give the blanks a line starts with."""
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def reindented(text: str, rule: Reindent) -> str:
    """Apply the rule to every line of `text` that is not blank."""
    lines = text.split("\n")
    return "\n".join(
        rule.apply(indent_of(line)) + line.lstrip(_BLANKS) if line.strip(_BLANKS + "\r") else line
        for line in lines
    )


def _shift(old: str, real: str) -> tuple[str, str]:
    """Give what is added before, or removed from, `old` to make `real`."""
    if real.endswith(old):
        return real[: len(real) - len(old)], ""
    if old.endswith(real):
        return "", old[: len(old) - len(real)]
    return "", ""


def _shifted(indent: str, old: str, real: str) -> str:
    added, removed = _shift(old, real)
    if removed:
        return indent[len(removed) :] if indent.startswith(removed) else indent
    return added + indent


def _keeps_order(pairs: Sequence[tuple[str, str]]) -> bool:
    """Tell whether deeper lines stay deeper: tabs for spaces or another step width, not a jumble."""
    lengths = [(len(old), len(real)) for old, real in pairs]
    return all(a[0] > b[0] and a[1] > b[1] for a, b in pairwise(lengths))

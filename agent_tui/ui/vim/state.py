"""What vim keys act on, and what is remembered between two keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent_tui.ui.vim.motions import Find

Mode = Literal["insert", "normal", "visual", "visual line"]


class Page(Protocol):
    """A text with a cursor and perhaps a selection; places are offsets."""

    @property
    def text(self) -> str: ...

    @property
    def at(self) -> int: ...

    def replace(self, start: int, end: int, text: str) -> None:
        """Put `text` in the place of a part; the cursor goes behind it."""
        ...

    def go(self, at: int) -> None:
        """Put the cursor somewhere and drop the selection."""
        ...

    def mark(self, start: int, end: int) -> None:
        """Show a part as selected; the cursor stands at the end of it."""
        ...


@dataclass(frozen=True)
class Fed:
    """One key as the engine gets it: a keymap action, or a raw character."""

    action: str
    character: str = ""


@dataclass
class Pending:
    """A command that is being typed: counts, an operator, what the next character means."""

    count: str = ""
    operator: str = ""
    operator_count: str = ""
    waits: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing was begun."""
        return not (self.count or self.operator or self.waits)

    @property
    def total(self) -> int | None:
        """Both counts multiplied, None when none was typed."""
        if not (self.count or self.operator_count):
            return None
        return min(int(self.count or 1) * int(self.operator_count or 1), 9999)


@dataclass
class Change:
    """The last change, as the keys that made it and what was typed in insert mode after them."""

    keys: Sequence[Fed] = ()
    typed: str = ""


@dataclass
class Memory:
    """What outlives a command: the register, the last search in a line, the last change, earlier texts."""

    register: str = ""
    by_lines: bool = False
    find: Find | None = None
    change: Change = field(default_factory=Change)
    undo: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    redo: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

"""What the interface needs of the decisions of this session: to show them and to make one last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

LastingScope = Literal["session", "project", "user"]


@dataclass(frozen=True)
class DecisionView:
    """One decision. `decision` is allow or deny, `by` says who or which rule, `at` is the time of day.

    `pattern` is what would be stored to make it last, "" when it can hold once only. `scope` is how long it holds.
    """

    number: int
    at: str
    decision: str
    call: str
    target: str
    by: str
    scope: str
    pattern: str = ""


class Rulings(Protocol):
    """The decisions of the running program, which may belong to several sessions."""

    def recent(self) -> Sequence[DecisionView]:
        """List them, newest first."""
        ...

    async def promote(self, number: int, scope: LastingScope) -> str:
        """Make one last for `scope`; give a sentence."""
        ...

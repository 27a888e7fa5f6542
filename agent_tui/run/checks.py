"""One line of what doctor reports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One line of the report. `ok` False asks for attention; `is_hint` says that all works, and what would be better."""

    name: str
    ok: bool
    text: str
    is_hint: bool = False

    @property
    def mark(self) -> str:
        """Give what stands before it where lines are read one by one."""
        return "look" if not self.ok else "hint" if self.is_hint else "ok"

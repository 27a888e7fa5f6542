"""One line of what doctor reports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One line of the report; `ok` False asks for attention."""

    name: str
    ok: bool
    text: str

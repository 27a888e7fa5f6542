"""The fixed words of a setting, and what is said about a word that is none of them."""

from collections.abc import Sequence
from typing import Literal, get_args, get_origin

from agent_tui.protocol.near_names import did_you_mean


def choices_of(annotation: object) -> tuple[str, ...]:
    """Give the fixed words of a type: those of a Literal, true and false for a bool."""
    if annotation is bool:
        return ("true", "false")
    if get_origin(annotation) is Literal:
        return tuple(str(word) for word in get_args(annotation))
    parts = [part for part in get_args(annotation) if part is not type(None)]
    return choices_of(parts[0]) if len(parts) == 1 and get_origin(annotation) is not tuple else ()


def refused_word(value: object, words: Sequence[str]) -> str:
    """Say that `value` is none of `words`."""
    return f"there is no {value!r}{did_you_mean(str(value), [word for word in words if word])}"

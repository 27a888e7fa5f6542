"""Reads a number that a person typed."""

_MAX_DIGITS = 9


def whole_number(text: str) -> int | None:
    """Read up to nine digits as a number, None for everything else: signs, other scripts, a page of digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None

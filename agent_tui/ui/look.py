"""Small styled texts that several screens share. Data is never parsed as markup."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content


def matched(text: str, positions: Sequence[int]) -> Content:
    """Show `text` with the characters at `positions` picked out."""
    content = Content(text)
    for position in positions:
        content = content.stylize("bold $accent", position, position + 1)
    return content


def spans(*parts: tuple[str, str] | str | Content) -> Content:
    """Join (text, style) pairs and plain texts."""
    return Content("").join(
        Content.styled(*part) if isinstance(part, tuple) else Content(part) if isinstance(part, str) else part
        for part in parts
    )


def cut_middle(text: str, width: int) -> str:
    """Shorten a path or title to `width` characters by its middle."""
    if len(text) <= width or width < 5:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"

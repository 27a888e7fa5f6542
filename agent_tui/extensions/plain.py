"""Makes foreign words harmless: no control, format or private-use characters."""

import unicodedata

from agent_tui.toolkit.terminal_text import strip_sequences

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def plain(text: str) -> str:
    """Give `text` without what a person cannot see; newline and tab stay."""
    if text.isascii() and text.isprintable():
        return text
    text = strip_sequences(text.replace("\r\n", "\n"))
    if text.isascii():
        return text
    return "".join(
        char
        for char in text
        if char.isprintable() or char in "\n\t" or unicodedata.category(char) not in _HIDDEN
    )


def one_line(text: str, *, limit_chars: int = 200) -> str:
    """Give `text` as one line of at most `limit_chars` characters."""
    line = " ".join(plain(text[: limit_chars * 4]).split())
    return line if len(line) <= limit_chars else f"{line[: limit_chars - 3]}..."

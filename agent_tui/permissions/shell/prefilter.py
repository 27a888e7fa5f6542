"""Refuses text whose look may differ from what runs."""

import unicodedata

MAX_CHARS = 20_000
MAX_COMMANDS = 40
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5")


def suspicious(text: str) -> str:
    """Say what makes `text` impossible to judge by its look; "" when nothing does."""
    if len(text) > MAX_CHARS:
        return f"longer than {MAX_CHARS:,} characters"
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return ""
    for char in text:
        if char in "\n\t" or (char.isascii() and char.isprintable()):
            continue
        if (why := _hidden(char)) != "":
            return f"{why} (U+{ord(char):04X})"
    return ""


def _hidden(char: str) -> str:
    category = unicodedata.category(char)
    if category in _HIDDEN:
        return "a control or invisible character"
    if category == "Zs":
        return "an unusual space"
    is_selector = 0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF
    return "an invisible character" if is_selector or char in _FILLERS else ""

"""The choke point between untrusted text and the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, name

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.console import Console

# Cc but tab and newline, Cf, Cs, Zl, Zp and the variation selectors, as of Unicode 16; a test compares the
# list with unicodedata. Looking each character up would cost 40 times the search of this class.
_FORMAT = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_FORMAT}]")
_NEVER = re.compile(
    f"[\x00-\x1f\x7f-\x9f{_FORMAT}]".replace("\u200b-\u200f", "\u200b\u200e\u200f").replace(
        "\ufe00-\ufe0f", ""
    )
)
# Joiners and variation selectors change a cluster's width in a way terminals disagree about, and the other
# ones are invisible by design: they are left out. What could reorder or hide text is shown.
_SILENT = frozenset("\u00ad\u180b\u180c\u180d\u180f\u200b\u200c\u200d\u2060\ufeff") | frozenset(
    map(chr, range(0xFE00, 0xFE10))
)
_URL = re.compile(r"(?:https?|mailto):[\x21-\x7e]{1,2000}", re.IGNORECASE)
_ODD = frozenset("\u115f\u1160\u3164\uffa0\u2800⟦")


def clean(text: str) -> str:
    """Make `text` safe to draw: only tabs, newlines and printable characters remain.

    Control characters appear as their pictures (`␛`), C1 and bidirectional controls and tags as `⟦hex⟧`;
    zero-width characters, joiners and variation selectors are left out. `\\r\\n` becomes a newline. The rule
    works character by character (but for `\\r\\n`), so a sequence cut into pieces cannot slip through.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _UNSAFE.sub(_shown, text) if _UNSAFE.search(text) else text


def clean_line(text: str) -> str:
    """Make `text` one safe line: as `clean`, with every run of blanks and line ends as one space."""
    return " ".join(clean(text).split())


def _shown(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if char in _SILENT or 0xE0100 <= code <= 0xE01EF:
        return ""
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"⟦{code:x}⟧"


def safe_url(url: str) -> str:
    """Give `url` when it may be sent to the terminal as a link (http, https or mailto, visible ASCII), else ""."""
    return url if _URL.fullmatch(url) else ""


def vis(text: str) -> str:
    """Make every character of `text` visible, each text in a way of its own, so that nothing is lost.

    Whatever is not printable ASCII or an ordinary letter, digit or sign becomes `⟦hex⟧`: controls, format and
    odd space characters, variation selectors, combining marks, fillers, and `⟦` itself. A newline becomes
    `⟦n⟧` and a line break.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join([char if _plain(char) else _marked(char) for char in text])


def _plain(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return char.isprintable() and char not in _ODD and category(char)[0] != "M"


def _marked(char: str) -> str:
    return "⟦n⟧\n" if char == "\n" else f"⟦{ord(char):x}⟧"


def foreign_characters(text: str) -> list[str]:
    """Name each character of `text` that is not ASCII, once, in order: `U+0430 CYRILLIC SMALL LETTER A`."""
    seen = dict.fromkeys(char for char in text if not char.isascii())
    return [f"U+{ord(char):04X} {name(char, 'unnamed')}" for char in seen]


def scrub(text: str) -> str:
    """Remove what must never reach a terminal, leaving the width in cells as it was."""
    return text if text.isprintable() else _NEVER.sub("", text)


def install() -> None:
    """Make every Strip that Textual writes pass `scrub`. The last line of defence; calling it again does nothing."""
    if Strip.render is not _render:
        Strip.render = _render


def _render(self: Strip, console: Console) -> str:
    return _PLAIN_RENDER(_scrubbed(self), console)


def _scrubbed(strip: Strip) -> Strip:
    if all(_harmless(text, style) for text, style, _ in strip):
        return strip
    return Strip([Segment(scrub(text), _linked(style)) for text, style, _ in strip], strip.cell_length)


def _harmless(text: str, style: Style | None) -> bool:
    if not text.isprintable() and _NEVER.search(text):
        return False
    return style is None or not style.link or bool(safe_url(style.link))


def _linked(style: Style | None) -> Style | None:
    if style is None or not style.link or safe_url(style.link):
        return style
    return style.update_link(None)


_PLAIN_RENDER = Strip.render

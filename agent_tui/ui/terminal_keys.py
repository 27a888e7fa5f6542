"""Keys as terminals without the kitty protocol send them, where Textual takes them for others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual import events
from textual._xterm_parser import XTermParser
from textual.keys import Keys

# Alt is an Esc before the key (xterm, VTE, tmux, Terminal.app). Textual keeps it for letters and drops it for Enter.
_ALT_ENTER = "\x1b\r"
# xterm's modifyOtherKeys, which is also the format of tmux from 3.5 on: CSI 27 ; modifiers ; code point ~
_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_SHIFT = "2"


class TerminalKeys(XTermParser):
    """Textual's parser, which also knows these; a key that cannot be is no key."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence == _ALT_ENTER:
            return [events.Key("alt+enter", None)]
        try:
            return list(super()._sequence_to_key_events(_plain(sequence), alt=alt))
        except (ValueError, OverflowError):  # a code point that no character has
            return [events.Key(Keys.Ignore, sequence)]


def _plain(sequence: str) -> str:
    """Give another key in kitty's form, or as the character that Shift has made already."""
    other = _OTHER_KEY.fullmatch(sequence)
    if other is None:
        return sequence
    modifiers, code = other.groups()
    if modifiers == _SHIFT and chr(int(code)).isprintable():
        return chr(int(code))
    return f"\x1b[{code};{modifiers}u"

"""Terminal output as text: progress lines that overwrite themselves collapse, control sequences go."""

import re

HOLD_CHARS = 65_536

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x9d\x90\x98\x9e\x9f][^\x9c\x07\n]*[\x9c\x07]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ERASED = re.compile(r"[^\x08\n]\x08")


def strip_sequences(text: str) -> str:
    """Give `text` without escape sequences and control characters; newline and tab stay."""
    return _SEQUENCE.sub("", text) if _CONTROL.search(text) else text


class LineCollapser:
    """Turns a stream into what its lines look like when they are finished.

    Of a line that returns to its start, what was written last stays. The line in progress is held back until
    its newline, at most 65,536 characters of it: beyond that it counts as finished. `gave_plain` says whether
    what was given last is known to hold no control characters.
    """

    def __init__(self) -> None:
        self.gave_plain = True
        self._held = ""
        self._held_plain = True

    def feed(self, text: str, *, is_plain: bool = False) -> str:
        """Take what came and give the lines that are finished. `is_plain` promises that there is nothing to collapse."""
        at = text.rfind("\n") + 1
        if at == 0:
            self._held += text
            self._held_plain &= is_plain
            return self.flush() if len(self._held) > HOLD_CHARS else ""
        done = self._held + text[:at]
        self.gave_plain = self._held_plain and is_plain
        self._held, self._held_plain = text[at:], is_plain
        return done if self.gave_plain else _collapse(done)

    def flush(self) -> str:
        """Give the line in progress as it is."""
        done, self._held = self._held, ""
        self.gave_plain, self._held_plain = self._held_plain, True
        return done if self.gave_plain else _collapse(done)


def _collapse(text: str) -> str:
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    while "\x08" in text:
        erased = _ERASED.sub("", text)
        if erased == text:
            return text.replace("\x08", "")
        text = erased
    return text


def _last_state(line: str) -> str:
    line = line.rstrip("\r")
    return line[line.rfind("\r") + 1 :]

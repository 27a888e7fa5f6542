"""The prompt before the program: drawn and echoing keys within milliseconds, then handed over to the first frame.

Imported before anything else, so it imports only what an interpreter has at hand.
"""

import _thread
import os
import select
import sys
import termios
from collections.abc import Sequence

from agent_tui.ui.opening import asks_for_lines, opens_screen

LEAST_ROWS = 5
LEAST_COLUMNS = 20
FRAMED_ROWS = 10
NO_SCREEN = frozenset({"", "dumb", "unknown", "hardcopy", "printer", "glasstty"})
"""Terminals whose cursor cannot be placed."""
OFF = "AGENT_TUI_NO_INSTANT"

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?7l"
_LEAVE = "\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"
_INTERRUPT = b"\x03\x03"
_SWITCH_S = 0.0005
"""How long the main thread keeps the interpreter while a key waits; Python's own 5 ms would be felt."""


class Look:
    """How the first frame looked the last time: styles as SGR parameters, and the prompt's place.

    `below` counts the rows under the prompt's row, `left` the cells before its text.
    """

    def __init__(self, values: "dict[str, str] | None" = None) -> None:
        given = values or {}
        self.base, self.frame, self.marker = (_sgr(given.get(n, "")) for n in ("base", "frame", "marker"))
        self.text, self.hint = (_sgr(given.get(name, "")) for name in ("text", "hint"))
        self.cursor = _sgr(given.get("cursor", "")) or "7"
        words = given.get("words", "")
        self.words = words if words.isprintable() else ""
        self.below = _number(given.get("below", ""), 2)
        self.left = _number(given.get("left", ""), 4)


def _sgr(text: str) -> str:
    return text if set(text) <= set("0123456789;") else ""


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() and int(text) < 9 else default


def look_file() -> str:
    """Give where the last look is kept."""
    folder = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
    return os.path.join(folder, "agent-tui", "first-frame")


def terminal_kind(no_color: bool = False) -> str:
    """Name what decides the colours a terminal is given."""
    named = (os.environ.get(name, "") for name in ("TERM", "COLORTERM", "TEXTUAL_COLOR_SYSTEM"))
    bare = no_color or bool(os.environ.get("NO_COLOR"))
    return "|".join("".join(filter(str.isprintable, name)) for name in (*named, str(bare)))


def read_look(path: str, kind: str) -> Look:
    """Read the last look; a plain one when there is none for this kind of terminal."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read(4_000).split("\n")
    except (OSError, ValueError):
        return Look()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return Look(values if values.get("kind") == kind else None)


class InstantPrompt:
    """One line of text on a screen of its own. A thread echoes what is typed until `stop`.

    At the first key that is more than text it stops echoing and keeps what comes: the program gets all of it,
    byte for byte, in order. Made by `draw`; afterwards exactly one of `stop` and `restore` takes effect.
    """

    def __init__(self, fd: int, out: int, look: Look) -> None:
        self._fd, self._out, self._look = fd, out, look
        self.attributes = termios.tcgetattr(fd)
        self._text: list[str] = []
        self._kept: bytearray = bytearray()
        self._cut: bytes = b""
        self._is_pasted = False
        self._is_frozen = False
        self._is_over = False
        self._size = (0, 0)
        self._wake_r, self._wake_w = os.pipe()
        self._lock = _thread.allocate_lock()
        self._reading = _thread.allocate_lock()
        self._handlers: list[tuple[int, object]] = []
        self._switch_s = sys.getswitchinterval()

    @property
    def text(self) -> str:
        """What was typed so far, as far as it is echoed."""
        return "".join(self._text)

    @property
    def typed(self) -> str:
        """What can be printed of all that was typed."""
        return _readable(self.text + self._kept.decode(errors="replace"))

    def draw(self) -> None:
        """Take the terminal, paint, and begin to echo."""
        self._take_terminal()
        self._paint()
        if select.select([self._fd], [], [], 0)[0]:
            self._read_once(typed_ahead=True)
        sys.setswitchinterval(_SWITCH_S)
        self._reading.acquire()
        _thread.start_new_thread(self._read, ())
        self._watch_signals()

    def stop(self) -> bytes:
        """End the echo for good and give the bytes that came after `text`; the terminal stays as it is."""
        if self._end():
            self._unwatch_signals()
            os.write(self._wake_w, b"x")
            self._reading.acquire()
            os.close(self._wake_r)
            os.close(self._wake_w)
            if self._is_pasted and len(self._kept) > 1:
                # Lines in one read are a paste: its first Enter must meet the key before it to be told from "send".
                self._kept[:0] = self._text.pop().encode()
            self._kept += self._cut
        return bytes(self._kept)

    def restore(self) -> str:
        """Give the terminal back as it was and what was typed; "" when the program has taken both over."""
        if not self._end():
            return ""
        self._unwatch_signals()
        self._give_back()
        return self.typed

    def _end(self) -> bool:
        taken = self._lock.acquire(timeout=0.5)  # a signal may come while this thread holds it
        is_first, self._is_over = not self._is_over, True
        if taken:
            self._lock.release()
        if is_first:
            sys.setswitchinterval(self._switch_s)
        return is_first

    def _take_terminal(self) -> None:
        raw = termios.tcgetattr(self._fd)
        raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSANOW, raw)  # TCSAFLUSH would lose what was typed ahead
        self._write(_ENTER)

    def _give_back(self) -> None:
        self._write(_LEAVE)
        try:
            termios.tcsetattr(self._fd, termios.TCSANOW, self.attributes)
        except termios.error:
            return  # the terminal is gone

    # The thread

    def _read(self) -> None:
        try:
            while not self._is_over:
                ready, _, _ = select.select([self._fd, self._wake_r], [], [])
                if self._wake_r in ready or not self._read_once():
                    break
        except (OSError, ValueError):
            pass  # the terminal is gone; the program finds out by itself
        finally:
            self._reading.release()

    def _read_once(self, *, typed_ahead: bool = False) -> bool:
        data = os.read(self._fd, 4096)
        if typed_ahead:  # before the program began, when the terminal still turned Enter into a line feed
            data = data.replace(b"\n", b"\r")
        with self._lock:
            if self._is_over:
                self._kept += data
                return False
            was_frozen = self._is_frozen
            self._take(data)
            if not was_frozen:
                self._paint_line()
        if self._kept.endswith(_INTERRUPT) and self._end():  # a start that hangs can be left
            self._give_back()
            os._exit(130)
        return bool(data)

    def _take(self, data: bytes) -> None:
        if self._is_frozen:
            self._kept += data
            return
        data, self._cut = self._cut + data, b""
        at = 0
        while at < len(data):
            size = _utf8_size(data[at])
            piece = data[at : at + size]
            if size > len(piece) and all(byte & 0xC0 == 0x80 for byte in piece[1:]):
                self._cut = piece
                return
            if not self._edit(piece):
                self._is_frozen = True
                self._is_pasted = at > 0 and bool(self._text) and piece in b"\r\n"
                self._kept += data[at:]
                return
            at += size

    def _edit(self, piece: bytes) -> bool:
        """Apply one key; False when it means more than text here."""
        if piece == b"\x7f":
            del self._text[-1:]
        elif piece == b"\x15":
            self._text.clear()
        elif piece == b"?" and not self._text:
            return False
        else:
            try:
                char = piece.decode()
            except UnicodeDecodeError:
                return False
            if not _cells(char):
                return False
            self._text.append(char)
        return True

    # The picture

    def _paint(self) -> None:
        self._size = columns, rows = os.get_terminal_size(self._out)
        look, framed = self._look, rows >= FRAMED_ROWS
        parts = [f"\x1b[0;{look.base}m\x1b[2J"]
        if framed:
            row, line = rows - look.below, "─" * (columns - 2)
            edge = f"\x1b[0;{look.frame}m"
            inside = f"│\x1b[0;{look.base}m{' ' * (columns - 2)}{edge}│"
            parts.append(f"\x1b[{row - 1};1H{edge}╭{line}╮\x1b[{row};1H{inside}\x1b[{row + 1};1H╰{line}╯")
        self._write("".join(parts))
        self._paint_line()

    def _paint_line(self) -> None:
        columns, rows = os.get_terminal_size(self._out)
        if (columns, rows) != self._size:
            self._paint()
            return
        look, framed = self._look, rows >= FRAMED_ROWS
        row = rows - look.below if framed else rows - look.below + 1
        left = look.left if framed else look.left - 1
        room = columns - left - (2 if framed else 1)
        if room < 4 or row < 1:
            return
        shown, used = _tail(self._text, room - 1)
        text = f"\x1b[0;{look.text}m{shown}\x1b[0;{look.cursor}m \x1b[0;{look.base}m{' ' * (room - 1 - used)}"
        if not self._text and look.words:
            words = look.words[:room]
            rest = f"\x1b[0;{look.hint}m{words[1:]}\x1b[0;{look.base}m{' ' * (room - len(words))}"
            text = f"\x1b[0;{look.cursor}m{words[0]}{rest}"
        self._write(f"\x1b[{row};{left - 1}H\x1b[0;{look.marker}m› {text}")

    def _write(self, text: str) -> None:
        data = text.encode()
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            pass  # the terminal is gone; the reader ends for the same reason

    # Signals, until the program has handlers of its own

    def _watch_signals(self) -> None:
        import signal  # 2 ms of enums, after the paint

        for number in (signal.SIGTERM, signal.SIGHUP):
            self._handlers.append((number, signal.signal(number, self._end_by_signal)))
        self._handlers.append((signal.SIGTSTP, signal.signal(signal.SIGTSTP, self._suspend)))

    def _unwatch_signals(self) -> None:
        import signal

        for number, before in self._handlers:
            ours = (self._end_by_signal, self._suspend)
            if signal.getsignal(number) in ours:
                signal.signal(number, before)  # type: ignore[arg-type]  # what signal.signal gave
        self._handlers.clear()

    def _end_by_signal(self, number: int, _frame: object) -> None:
        self.restore()
        os._exit(128 + number)

    def _suspend(self, _number: int, _frame: object) -> None:
        import signal

        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take_terminal()
        self._paint()


def _readable(typed: str) -> str:
    """Give what can be printed of the keys that were typed."""
    import re  # for a start that fails only

    text = re.sub(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|[^\[O])?", "", typed).replace("\r", "\n")
    return "".join(char for char in text if char.isprintable() or char == "\n").strip()


def _utf8_size(first: int) -> int:
    if first < 0xC2:
        return 1
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _cells(char: str) -> int:
    """Give the width of a character that stands for itself in every terminal, else 0."""
    if char.isascii():
        return int(char.isprintable())
    import unicodedata  # 1 ms, for who types more than ASCII

    code = ord(char)
    if unicodedata.category(char)[0] not in "LNPS" or 0x1100 <= code <= 0x11FF or code >= 0x1F000:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _tail(text: Sequence[str], room: int) -> tuple[str, int]:
    """Give as much of the end as fits in `room` cells, and its width."""
    used, first = 0, len(text)
    while first and used + _cells(text[first - 1]) <= room:
        first -= 1
        used += _cells(text[first])
    return "".join(text[first:]), used


def draw_at_once(arguments: Sequence[str]) -> InstantPrompt | None:
    """Draw the prompt when these arguments open the full screen and the terminal can show one."""
    if not opens_screen(arguments) or os.environ.get(OFF) or asks_for_lines(os.environ):
        return None
    if os.environ.get("TERM", "") in NO_SCREEN or not all(os.isatty(fd) for fd in (0, 1, 2)):
        return None
    try:
        columns, rows = os.get_terminal_size(2)
        if rows < LEAST_ROWS or columns < LEAST_COLUMNS:
            return None
        look = read_look(look_file(), terminal_kind("--no-color" in arguments))
        prompt = InstantPrompt(0, 2, look)
        prompt.draw()
    except (OSError, termios.error):
        return None
    return prompt

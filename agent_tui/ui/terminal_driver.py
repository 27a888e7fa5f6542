"""Talks to the terminal: takes it over from the drawn prompt, never wakes up for nothing, survives bad bytes and its end."""

from __future__ import annotations

import os
import re
import select
import sys
import threading
from codecs import IncrementalDecoder, getincrementaldecoder
from typing import IO, cast

from textual import events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from agent_tui.ui.instant import InstantPrompt
from agent_tui.ui.terminal_keys import TerminalKeys
from agent_tui.ui.typed_run import RunReader, TypedRun

READ_BYTES = 4096
# An escape sequence that is not complete is given up after Textual's ESCAPE_DELAY (0.1 s): after input we look a few
# times with a limit, then wait without one. Textual itself wakes up ten times a second for ever (1 ms of CPU a second).
TICK_S = 0.1
TICKS_AFTER_INPUT = 4
# A letter needs the interpreter some five times in the threads that read and write the terminal. While the main thread is
# busy each of them waits for a switch: with Python's 5 ms a letter took 100 to 200 ms while a reply came all at once.
SWITCH_S = 0.0005
_ALTERNATE_SCREEN = "\x1b[?1049h"
_QUERY = re.compile(r"\x1b\[\?\d+\$p")
_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
# tmux tells Shift+Enter from Enter (set -s extended-keys on) only for who asks for it; it does not know kitty's way to ask.
_ASK_TMUX_FOR_KEYS, _ASK_TMUX_NO_LONGER = "\x1b[>4;1m", "\x1b[>4m"
_CUT_SEQUENCE = re.compile(rb"\x1b(\[[0-9;:<?]*)?\Z")


class TakesOver:
    """An app whose first frame replaces a prompt that stands on the terminal already."""

    drawn: InstantPrompt | None = None


class _Unbreakable:
    """A text stream whose writes are lost once the terminal is gone, instead of ending the thread that writes."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def fileno(self) -> int:
        return self._stream.fileno()


class TerminalDriver(LinuxDriver):
    """Textual's driver with an input thread of our own.

    Over a prompt that was drawn before, nothing is written until `release`: its echo stays on screen, and no answer
    of the terminal can fall into the middle of what is typed.
    """

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]  # Textual says App without its parameter
        self._file = cast("IO[str]", _Unbreakable(self._file))
        self._wake_r, self._wake_w = os.pipe()
        self._released = threading.Event()
        self._drawn = app.drawn if isinstance(app, TakesOver) else None
        self._held: list[str] | None = None
        self._kept = b""
        self._queries = ""

    def start_application_mode(self) -> None:
        """Set the terminal up, or note how it is to be set up once the prompt on it is taken over."""
        drawn = self._drawn
        if drawn is not None:
            self._held = []
        super().start_application_mode()
        if drawn is not None and self.attrs_before is not None:
            self.attrs_before = drawn.attributes  # what Textual found are the drawn prompt's
        if _in_tmux():
            self.write(_ASK_TMUX_FOR_KEYS)

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was."""
        if self.take_over() is not None:  # no frame of ours has ended the colours of the drawn prompt
            self.write("\x1b[0m")
        self._write_held()
        if _in_tmux():
            self.write(_ASK_TMUX_NO_LONGER)
        super().stop_application_mode()

    def write(self, data: str) -> None:
        """Write, or hold it until the prompt on the terminal is taken over."""
        if self._held is None:
            super().write(data)
        else:
            self._held.append(data)

    def take_over(self) -> str | None:
        """End the drawn prompt's echo and give its text; None when there was none."""
        if self._drawn is None:
            return None
        drawn, self._drawn = self._drawn, None
        self._kept = drawn.stop()
        return drawn.text

    def release(self) -> None:
        """Show the first frame and begin to read: the prompt can take keys, those kept so far first."""
        self._write_held()
        self._released.set()

    def _write_held(self) -> None:
        if self._held is None:
            return
        held, self._held = "".join(self._held), None
        # A second switch to the alternate screen would clear it and forget where the cursor was.
        held = held.replace(_ALTERNATE_SCREEN, "", 1)
        self._queries = "".join(_QUERY.findall(held))
        super().write(_QUERY.sub("", held))

    def run_input_thread(self) -> None:
        """Hand over what is typed until told to stop; bytes that are no UTF-8 become U+FFFD."""
        self._released.wait()
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            self._read_input()
        finally:
            sys.setswitchinterval(before)

    def _read_input(self) -> None:
        parser = TerminalKeys(self._debug)
        decoder = getincrementaldecoder("utf-8")("replace")
        runs = RunReader(lambda wait_s: self._more(wait_s, decoder))
        ticks = 0
        if self._kept:
            self._feed(decoder.decode(self._kept), parser, runs)
            ticks = TICKS_AFTER_INPUT
        self._ask(self._kept, decoder)
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno, self._wake_r], [], [], TICK_S if ticks else None)
            if self.fileno in ready:
                try:
                    data = os.read(self.fileno, READ_BYTES)
                except OSError:
                    data = b""
                if not data:
                    self._lost()
                    return
                self._kept += data if self._queries else b""
                self._feed(decoder.decode(data), parser, runs)
                self._ask(self._kept, decoder)
                ticks = TICKS_AFTER_INPUT
            elif ticks:
                ticks -= 1
            for message in parser.tick():
                self.process_message(message)

    def _feed(self, text: str, parser: TerminalKeys, runs: RunReader) -> None:
        for part in runs.split(text):
            for message in (part,) if isinstance(part, TypedRun) else parser.feed(part) if part else ():
                self.process_message(message)

    def _more(self, wait_s: float, decoder: IncrementalDecoder) -> str | None:
        """Read what comes within `wait_s`; None when nothing does, at the end and when told to stop."""
        ready, _, _ = select.select([self.fileno, self._wake_r], [], [], wait_s)
        if ready != [self.fileno]:
            return None
        try:
            data = os.read(self.fileno, READ_BYTES)
        except OSError:
            return None  # the next read meets it again
        self._kept += data if self._queries else b""
        return decoder.decode(data) if data else None

    def _ask(self, read: bytes, decoder: IncrementalDecoder) -> None:
        """Send the held queries once nothing is half read: the answer must not land in a paste or a character."""
        pasting = read.rfind(_PASTE_BEGINS) > read.rfind(_PASTE_ENDS)
        if self._queries and not (decoder.getstate()[0] or pasting or _CUT_SEQUENCE.search(read)):
            queries, self._queries = self._queries, ""
            self._kept = b""
            super().write(queries)

    def _lost(self) -> None:
        """The terminal is gone: end as Ctrl+Q does, which denies what is open."""
        self._loop.call_soon_threadsafe(self._app.post_message, TerminalLost())

    def disable_input(self) -> None:
        """Stop reading; the thread is woken first, since it waits without a limit."""
        self._released.set()
        os.write(self._wake_w, b"x")
        super().disable_input()
        os.read(self._wake_r, 1)


def _in_tmux() -> bool:
    return bool(os.environ.get("TMUX"))


class TerminalLost(events.Event, bubble=False):
    """The terminal was closed or its reader failed."""

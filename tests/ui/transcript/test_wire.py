import os
import pty
import re
import select
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
FORBIDDEN = [
    b"\x1b]52",
    b"\x1b]0;",
    b"pwn\x07",
    b"\x1b]8;;http",
    b"http://evil\x07",
    b"\x1b[6n",
    b"\x1b[10A",
    b"\x1bPq",
    b"\x1bc",
    "\x9b".encode(),
    "\u202e".encode(),
    b"\x00",
    b"\x08",
    b"\x7f",
]


def run_in_pty(module: str) -> bytes:
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
        }
        os.execve(sys.executable, [sys.executable, "-m", module], environment)
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    written = b""
    stop = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < stop:
            if select.select([master], [], [], 0.2)[0]:
                chunk = os.read(master, 1 << 16)
                if not chunk:
                    break
                written += chunk
    except OSError:
        pass
    os.close(master)
    os.waitpid(pid, 0)
    return written


@pytest.fixture(scope="module")
def written() -> bytes:
    return run_in_pty("tests.support.wire_child")


@pytest.mark.parametrize("sequence", FORBIDDEN, ids=repr)
def test_h_t1_no_sequence_of_any_content_reaches_the_terminal(written: bytes, sequence: bytes) -> None:
    assert b"RLO" in written
    assert sequence not in written


def test_h_t1_every_link_on_the_wire_is_a_plain_address(written: bytes) -> None:
    targets = {target for _, target in re.findall(rb"\x1b\]8;([^;]*);([^\x1b\x07]*)\x1b\\", written)}

    assert targets == {b"", b"http://evil", b"http://e%E2%90%9B%5D0;x%E2%90%87"}
    assert written.count(b"\x1b]8;") == written.count(b"\x1b]8;id=") + written.count(b"\x1b]8;;\x1b\\")


def test_h_t1_only_the_program_itself_switches_modes(written: bytes) -> None:
    modes = re.findall(rb"\x1b\[\?(\d+)[hl]", written)

    assert modes.count(b"1049") == 2
    assert written.count(b"\x1b[?2004h") <= 1


def test_tu_03_the_characters_are_shown_as_visible_marks(written: bytes) -> None:
    assert "␛]52;c;ZXZpbA==␇".encode() in written
    assert "⟦9b⟧31m".encode() in written
    assert "⟦202e⟧RLO".encode() in written

import os
import signal

from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY


def test_bytes_that_are_no_utf8_do_not_end_the_program(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send(b"caf\xe9 \xff\xfe ok")
        terminal.until("ok")
        terminal.send("\x15expläin")

        terminal.until("expläin")


def test_nothing_is_written_and_nothing_runs_while_idle(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until("offline")  # the core is there
        for _ in range(20):  # what follows the start takes its time
            before = cpu_ticks(terminal.pid)
            wrote = terminal.pump(3.0)
            used = cpu_ticks(terminal.pid) - before
            if not wrote and used / os.sysconf("SC_CLK_TCK") <= 0.02:
                break

    assert not wrote
    assert used / os.sysconf("SC_CLK_TCK") <= 0.02


def cpu_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_closed_terminal_ends_the_program(place: Place) -> None:
    terminal = place.terminal()
    terminal.until(READY)

    terminal.lost()


def test_keys_typed_before_the_first_paint_are_kept(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.send("typed early")

        terminal.until("› typed early")


def test_terminal_is_left_as_it_was_after_sigterm(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.kill(signal.SIGTERM)

        assert terminal.wait() == 143

    assert b"\x1b[?1049l" in terminal.raw
    assert b"\x1b[?2004l" in terminal.raw


def test_escape_alone_and_in_a_sequence_are_told_apart(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("/hel")
        terminal.until("keys and commands")
        terminal.send("\x1b")
        terminal.until(lambda text: "keys and commands" not in text)
        terminal.send("\x1b[D\x1b[DX")

        terminal.until("/hXel")


def test_lines_that_a_terminal_pastes_without_marks_are_one_text(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("".join(f"line {number}\r" for number in range(3000)))

        terminal.until("[pasted\u00a03000\u00a0lines\u00a0#1]")

import signal

import pytest

from tests.e2e.conftest import Place
from tests.support.terminal import Terminal

LEAVE = "Press Ctrl+C again to leave."


def answer(terminal: Terminal, text: str, label: str = "Your choice:") -> None:
    """Answer a question; what comes too early is not taken, so it is given again then."""
    terminal.until(lambda _: terminal.text.rstrip().endswith(label))
    for _ in range(20):
        refused = terminal.text.count("does not count")
        terminal.send(f"{text}\r")
        terminal.pump(0.5)
        terminal.quiet(0.2)
        if terminal.text.count("does not count") == refused:
            return
    raise AssertionError(terminal.text)


def test_a_round_is_decided_in_lines_with_the_real_core(place: Place) -> None:
    with place.terminal("--screen-reader", rows=200) as terminal:
        terminal.until("You:")
        terminal.send("tour\r")
        terminal.until("1. Allow all once")
        assert "Call 1 of 5. Write: " in terminal.text
        assert "Added: # Tour" in terminal.text
        answer(terminal, "1")
        terminal.until("Call 1 of 1. Edit: ")
        assert "Removed: def greet" in terminal.text
        answer(terminal, "1")
        terminal.until("Done in")
        terminal.send("\x04")

        assert terminal.wait() == 0

    assert list((place.project / ".agent-tour").glob("notes-*.md"))
    assert "agent-tui --resume" in terminal.text
    for sequence in (b"\x1b[?1049h", b"\x1b[?2004h", b"\x1b[?1000h", b"\x1b[2J"):
        assert sequence not in terminal.raw
    assert b"\a" in terminal.raw


def test_calls_are_denied_one_by_one_in_lines(place: Place) -> None:
    with place.terminal("--screen-reader", rows=200) as terminal:
        terminal.until("You:")
        terminal.send("tour\r")
        terminal.until("4. Decide call by call")
        answer(terminal, "4")
        terminal.until("Call 1 of 5, ")
        answer(terminal, "6")
        answer(terminal, "rather not", "Why:")
        terminal.until("Call 2 of 5, ")
        answer(terminal, "1")
        for number in (3, 4, 5):
            terminal.until(f"Call {number} of 5, ")
            answer(terminal, "5")
        terminal.until("Done in")

    assert list((place.project / ".agent-tour").glob("notes-*.md"))
    assert not list((place.project / ".agent-tour").glob("greet-*.py"))


def test_a_variable_asks_for_lines_in_every_run(place: Place) -> None:
    with place.terminal(AGENT_TUI_SCREEN_READER="1") as terminal:
        terminal.until("You:")
        terminal.send("\x04")

        assert terminal.wait() == 0

    for sequence in (b"\x1b[?1049h", b"\x1b[?2004h", b"\x1b[2J"):
        assert sequence not in terminal.raw


@pytest.mark.parametrize("value", ["", "0"])
def test_a_variable_that_says_no_leaves_the_full_screen(place: Place, value: str) -> None:
    with place.terminal(AGENT_TUI_SCREEN_READER=value) as terminal:
        terminal.until("Ask anything")

    assert b"\x1b[?1049h" in terminal.raw


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_a_full_screen_gets_plain_lines(place: Place, term: str) -> None:
    with place.terminal(TERM=term) as terminal:
        terminal.until("You:")
        terminal.send("help\r")
        terminal.until("Done in")

    assert f"No full screen is possible with TERM={term!r}" in terminal.text
    assert b"\x1b" not in terminal.raw


def test_ctrl_c_twice_leaves_and_the_terminal_is_as_it_was(place: Place) -> None:
    with place.terminal("--screen-reader") as terminal:
        terminal.until("You:")
        told = 0
        while terminal.exit_code is None and told < 10:  # two seconds may pass between two presses
            terminal.send("\x03")
            terminal.until(lambda text, told=told: text.count(LEAVE) > told or terminal.exit_code is not None)
            told = terminal.text.count(LEAVE)

        assert terminal.wait() == 0
        assert told > 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_lines_with_its_code(place: Place, number: signal.Signals, code: int) -> None:
    with place.terminal("--screen-reader") as terminal:
        terminal.until("You:")
        terminal.kill(number)

        assert terminal.wait() == code


def test_a_session_goes_on_in_lines(place: Place) -> None:
    with place.terminal("--screen-reader") as terminal:
        terminal.until("You:")
        terminal.send("help\r")
        terminal.until("Done in")
        terminal.send("\x04")
        terminal.wait()
    with place.terminal("--screen-reader", "-c") as terminal:
        terminal.until("You: help")
        terminal.until("Assistant:")

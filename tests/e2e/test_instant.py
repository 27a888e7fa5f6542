import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyte.screens import Char

from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY
from tests.support.modes import Modes
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
LOADED = "offline"
"""Stands in the status line once the program itself is there."""
TALL = 60
"""Rows enough for a question to stay in sight above its answer."""


class Gated:
    """A program whose prompt is drawn and which loads the rest when told to."""

    def __init__(self, terminal: Terminal, gate: Path) -> None:
        self.terminal = terminal
        self._gate = gate

    def go_on(self) -> None:
        self._gate.touch()

    def prompt(self) -> str | None:
        rows = [row for row in self.terminal.screen.display if "›" in row]
        shown = rows[0].partition("›")[2].strip(" │") if rows else None
        return "" if shown and shown.startswith(READY) else shown

    def until_prompt(self, text: str) -> None:
        self.terminal.until(lambda _: self.prompt() == text)


@pytest.fixture
def gated(place: Place, tmp_path: Path) -> Callable[..., Gated]:
    def start(*arguments: str, columns: int = 100, rows: int = 24, typed: str = "", **env: str) -> Gated:
        """Start the program, once the terminal has taken what is typed before."""
        gate, echoed = tmp_path / "gate", tmp_path / "echoed"
        wait = 'until [ -e "$0" ]; do sleep 0.01; done; exec "$@"'
        argv = ["sh", "-c", wait, str(echoed), sys.executable, "-m", "tests.support.gated", *arguments]
        variables = place.env(GATE=str(gate), PYTHONPATH=str(ROOT), COLORTERM="truecolor", **env)
        terminal = Terminal(argv, cwd=place.project, env=variables, columns=columns, rows=rows)
        terminal.send(typed)
        terminal.until(typed.strip())
        echoed.touch()
        return Gated(terminal, gate)

    return start


Start = Callable[..., Gated]


def test_instant_prompt_echoes_before_the_program_is_loaded(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        for number, char in enumerate("fix the τests ж"):
            terminal.send(char)
            one.until_prompt("fix the τests ж"[: number + 1].strip())
        assert not terminal.until("╭").count(LOADED)
        terminal.send("\x7f\x7f")
        one.until_prompt("fix the τests")
        one.go_on()
        terminal.until(LOADED)

        assert one.prompt() == "fix the τests"


def test_instant_prompt_gives_way_without_a_flicker(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("kept")
        one.until_prompt("kept")
        drawn = len(terminal.raw)
        one.go_on()
        text, missing = "kept", 0
        while LOADED not in terminal.text:
            if len(text) < 60:
                terminal.send("x")
                text += "x"
            terminal.pump(0.01)
            missing += not (one.prompt() or "").startswith("kept")
        one.until_prompt(text)
        after = bytes(terminal.raw[drawn:])

    assert missing == 0
    assert b"\x1b[?1049h" not in after
    assert b"\x1b[2J" not in after
    assert b"\x1b[?1049h" in terminal.raw[:drawn]


def test_instant_prompt_keeps_what_was_typed_before_it_was_drawn(gated: Start) -> None:
    one = gated(typed="typed ahead")
    with one.terminal as terminal:
        one.until_prompt("typed ahead")
        one.go_on()
        terminal.until(LOADED)

        assert one.prompt() == "typed ahead"


def test_instant_prompt_sends_a_line_that_was_entered_before_the_program_was_there(gated: Start) -> None:
    one = gated(rows=TALL, typed="help\n")
    with one.terminal as terminal:
        one.until_prompt("help")
        one.go_on()
        terminal.until(lambda text: "▌ help" in text)


def test_instant_prompt_keeps_enter_and_what_follows_in_order(gated: Start) -> None:
    one = gated(rows=TALL)
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("help")
        one.until_prompt("help")
        terminal.send("\rand then")
        one.go_on()
        terminal.until(lambda text: "▌ help" in text)
        one.until_prompt("and then")


def test_instant_prompt_takes_lines_in_one_read_for_a_paste(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("first\rsecond\rthird")
        one.until_prompt("first")
        one.go_on()
        terminal.until("third")
        shown = terminal.quiet(1.0)

    assert "▌" not in shown
    assert all(word in shown for word in ("first", "second", "third"))


def test_instant_prompt_keeps_characters_split_over_reads(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        for byte in "aж日本".encode():
            terminal.send(bytes([byte]))
            terminal.pump(0.02)
        one.until_prompt("aж日本")
        terminal.send("ж".encode()[:1])
        one.go_on()
        terminal.until(LOADED)
        terminal.send("ж".encode()[1:])
        one.until_prompt("aж日本ж")


def test_instant_prompt_keeps_a_paste_whole_though_it_ends_after_the_hand_over(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("a \x1b[200~one\rtwo")
        one.until_prompt("a")
        one.go_on()
        terminal.until(LOADED)
        assert b"\x1b[?2026$p" not in terminal.raw
        terminal.send("\rthree\x1b[201~ end")
        terminal.until(lambda text: "pasted" in text and "#1] end" in text)
        terminal.until(lambda _: b"\x1b[?2026$p" in terminal.raw)

        assert "▌" not in terminal.text


def test_instant_prompt_leaves_keys_that_are_no_text_to_the_program(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("ab")
        one.until_prompt("ab")
        terminal.send("\x1b[D")
        terminal.quiet(0.1)
        terminal.send("X")
        one.go_on()
        one.until_prompt("aXb")


def test_instant_prompt_leaves_bad_bytes_to_the_program(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send(b"caf\xe9 \xff ok")
        one.until_prompt("caf")
        one.go_on()
        terminal.until("ok")


@pytest.mark.parametrize(("key", "name"), [("\x03", "Ctrl+C"), ("\x04", "Ctrl+D")])
def test_instant_prompt_keeps_one_interrupt_for_the_program(gated: Start, key: str, name: str) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send(key)
        terminal.quiet(0.1)
        one.go_on()
        terminal.until_written(f"Press {name} again to quit")


def test_instant_prompt_can_be_left_by_two_interrupts_while_the_start_hangs(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("abc\x03")
        terminal.quiet(0.1)
        terminal.send("\x03")

        assert terminal.wait() == 130
        assert Modes(terminal.raw).changed == {}


def test_instant_prompt_follows_a_resize_before_and_after_the_hand_over(gated: Start) -> None:
    one = gated(columns=100, rows=24)
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.resize(60, 16)
        terminal.send("narrow")
        one.until_prompt("narrow")
        assert terminal.screen.display[13].startswith("│ › narrow")
        one.go_on()
        terminal.until(LOADED)

        terminal.until(lambda _: terminal.screen.display[13].startswith("│ › narrow"))


def test_instant_prompt_shows_the_end_of_a_long_text(gated: Start) -> None:
    one = gated(columns=40)
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("word " * 20 + "end")
        terminal.until("word end")
        one.go_on()
        terminal.until(LOADED)
        terminal.until("word end")


def test_instant_prompt_stands_where_the_first_frame_has_it_in_the_same_colours(gated: Start) -> None:
    first = gated()
    with first.terminal as terminal:
        first.go_on()
        terminal.until(LOADED)
        terminal.send("\x03\x03")
        terminal.wait()
    os.unlink(first._gate)
    second = gated()
    with second.terminal as terminal:
        terminal.until(READY)
        before = cells(terminal)
        second.go_on()
        terminal.until(LOADED)

        terminal.until(lambda _: cells(terminal) == before)


def cells(terminal: Terminal) -> list[list[object]]:
    screen = terminal.screen
    rows = range(screen.lines - 4, screen.lines - 1)
    return [[visible(screen.buffer[y][x]) for x in range(screen.columns)] for y in rows]


def visible(cell: Char) -> Char:
    return cell._replace(fg="", bold=False) if cell.data == " " else cell


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_instant_prompt_gives_the_terminal_back_when_told_to_end(
    gated: Start, number: signal.Signals
) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("x")
        one.until_prompt("x")
        terminal.kill(number)

        assert terminal.wait() == 128 + number
        assert Modes(terminal.raw).changed == {}


def test_instant_prompt_can_be_suspended(gated: Start) -> None:
    one = gated()
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("kept")
        one.until_prompt("kept")
        terminal.kill(signal.SIGTSTP)
        os.waitpid(terminal.pid, os.WUNTRACED)
        terminal.quiet(0.2)
        assert Modes(terminal.raw).changed == {}
        terminal.kill(signal.SIGCONT)
        one.until_prompt("kept")
        one.go_on()
        terminal.until(LOADED)

        assert one.prompt() == "kept"


def test_instant_prompt_gives_the_terminal_back_when_the_program_cannot_be_imported(
    place: Place, tmp_path: Path
) -> None:
    broken = tmp_path / "broken" / "textual"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('this textual is broken')\n")
    env = {"PYTHONPATH": f"{broken.parent}:{ROOT}"}
    with place.terminal(**env) as terminal:
        code = terminal.wait()

        assert code == 1
        assert b"\x1b[?1049h" in terminal.raw
        assert Modes(terminal.raw).changed == {}
        assert "this textual is broken" in terminal.text


def test_instant_prompt_gives_the_terminal_back_before_a_usage_error(place: Place) -> None:
    with place.terminal("--max-turns", "0") as terminal:
        code = terminal.wait()

        assert code == 2
        assert Modes(terminal.raw).changed == {}
        assert "--max-turns" in terminal.text


def test_instant_prompt_leaves_the_line_discipline_as_it_was(place: Place, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    script = f'stty -a > {before}; "$@"; code=$?; stty -a > {after}; exit $code'
    argv = ["sh", "-c", script, "sh", sys.executable, "-m", "agent_tui"]
    with Terminal(argv, cwd=place.project, env=place.env()) as terminal:
        terminal.until(LOADED)
        terminal.send("\x03\x03")
        terminal.wait()

    assert before.read_text() == after.read_text()


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"TERM": ""}])
def test_instant_prompt_is_not_drawn_where_no_screen_is_possible(place: Place, env: dict[str, str]) -> None:
    with place.terminal(**env) as terminal:
        terminal.until("TERM=")

        assert b"\x1b" not in terminal.raw


def test_instant_prompt_is_not_drawn_without_a_terminal_or_when_switched_off(place: Place) -> None:
    done = place.run("--plan")

    assert (done.returncode, "\x1b" in done.stdout + done.stderr) == (2, False)
    with place.terminal(AGENT_TUI_NO_INSTANT="1") as terminal:
        terminal.send("later")
        terminal.until(LOADED)
        assert b"\x1b[2J" not in terminal.raw
        terminal.until("› later")


@pytest.mark.parametrize(("columns", "rows"), [(100, 4), (12, 24)])
def test_instant_prompt_is_not_drawn_on_too_small_a_screen(gated: Start, columns: int, rows: int) -> None:
    one = gated(columns=columns, rows=rows)
    with one.terminal as terminal:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            terminal.pump(0.1)
        assert not terminal.raw
        terminal.send("x")
        one.go_on()
        terminal.until(lambda text: "x" in text and "›" in text)


@pytest.mark.parametrize("rows", [5, 9])
def test_instant_prompt_on_a_low_screen_stands_where_the_first_frame_has_it(gated: Start, rows: int) -> None:
    one = gated(rows=rows)
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("low")
        one.until_prompt("low")
        place = [y for y, row in enumerate(terminal.screen.display) if "› low" in row]
        one.go_on()
        terminal.until(LOADED)

        terminal.until(
            lambda _: [y for y, row in enumerate(terminal.screen.display) if "› low" in row] == place
        )


def test_instant_prompt_is_drawn_over_a_prompt_argument_too(gated: Start) -> None:
    one = gated("help me", rows=TALL)
    with one.terminal as terminal:
        one.until_prompt("")
        terminal.send("next")
        one.until_prompt("next")
        one.go_on()
        terminal.until(lambda text: "▌ help me" in text)

        one.until_prompt("next")

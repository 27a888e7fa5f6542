import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Place
from tests.e2e.test_instant import LOADED, ROOT
from tests.support.modes import Modes
from tests.support.terminal import Terminal

IN_USE = {"?1049", "?25", "?1000", "?1003", "?1006", "?1004", "?2004"}
"""Alternate screen, hidden cursor, mouse, focus and bracketed paste: on while the program has the terminal."""


def in_use(terminal: Terminal) -> None:
    changed = Modes(terminal.raw).changed
    assert set(changed) >= IN_USE, changed


def in_shell(place: Place, tmp_path: Path, *arguments: str) -> list[str]:
    script = f'stty -a > {tmp_path}/before; "$@"; code=$?; stty -a > {tmp_path}/after; exit $code'
    return ["sh", "-c", script, "sh", sys.executable, "-m", "agent_tui", *arguments]


def test_terminal_is_as_it_was_after_a_normal_end(place: Place, tmp_path: Path) -> None:
    with Terminal(in_shell(place, tmp_path), cwd=place.project, env=place.env()) as terminal:
        terminal.until(LOADED)
        in_use(terminal)
        terminal.send("help\r")
        terminal.until("Offline model: built in")
        terminal.send("/exit\r")

        assert terminal.wait() == 0

    assert Modes(terminal.raw).changed == {}
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_terminal_is_as_it_was_after_a_signal(place: Place, number: signal.Signals) -> None:
    with place.terminal() as terminal:
        terminal.until(LOADED)
        in_use(terminal)
        terminal.kill(number)

        assert terminal.wait() == 128 + number
        assert Modes(terminal.raw).changed == {}


def test_terminal_is_as_it_was_after_a_crash_of_the_interface(place: Place, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import sys\n"
        "from agent_tui import cli\n"
        "from agent_tui.ui.app import AgentApp\n"
        "def fail(self, event):\n"
        "    raise RuntimeError('broken on purpose')\n"
        "AgentApp.on_prompt_sent = fail\n"
        "sys.exit(cli.main([]))\n"
    )
    env = place.env(PYTHONPATH=str(ROOT))
    with Terminal([sys.executable, str(broken)], cwd=place.project, env=env) as terminal:
        terminal.until(LOADED)
        in_use(terminal)
        terminal.send("x\r")

        assert terminal.wait() == 1
        assert Modes(terminal.raw).changed == {}
        assert "broken on purpose" in terminal.text
        assert "Traceback" not in terminal.text


def test_terminal_is_as_it_was_while_the_program_is_suspended(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(LOADED)
        terminal.send("draft")
        terminal.until("› draft")
        terminal.kill(signal.SIGTSTP)
        os.waitpid(terminal.pid, os.WUNTRACED)
        terminal.quiet(0.3)
        assert Modes(terminal.raw).changed == {}

        stopped_at = len(terminal.raw)
        terminal.kill(signal.SIGCONT)
        terminal.until(lambda _: b"draft" in bytes(terminal.raw[stopped_at:]))
        in_use(terminal)
        terminal.send(" goes on")
        terminal.until("› draft goes on")
        terminal.kill(signal.SIGTERM)
        terminal.wait()

    assert Modes(terminal.raw).changed == {}


def test_a_terminal_that_is_lost_in_the_middle_of_a_long_answer_ends_the_program(place: Place) -> None:
    (place.project / "long.txt").write_text("".join(f"line {n} of a long file\n" for n in range(3000)))
    terminal = place.terminal()
    terminal.until(LOADED)
    terminal.send("read long.txt\r")
    terminal.until("long.txt")

    terminal.lost()


def test_tu_16_no_colours_are_written_with_no_color(place: Place) -> None:
    with place.terminal(NO_COLOR="1", COLORTERM="truecolor") as terminal:
        terminal.until(LOADED)
        terminal.send("tour\r")
        terminal.until("+ def greet")
        coloured = [style for style in Modes(terminal.raw).styles if has_colour(style)]

    assert coloured == []


@pytest.mark.parametrize(
    ("env", "refused"),
    [({"TERM": "xterm"}, ("38;", "48;")), ({"TERM": "xterm-256color"}, ("38;2;", "48;2;"))],
)
def test_tu_16_a_terminal_gets_no_more_colours_than_it_has(
    place: Place, env: dict[str, str], refused: tuple[str, ...]
) -> None:
    with place.terminal(**env) as terminal:
        terminal.until(LOADED)
        terminal.send("tour\r")
        terminal.until("Approve 5 calls")
        styles = Modes(terminal.raw).styles

    assert any(has_colour(style) for style in styles)
    assert [style for style in styles if any(part in style for part in refused)] == []


def has_colour(style: str) -> bool:
    numbers = [int(number) for number in style.split(";") if number]
    return any(30 <= n <= 37 or 40 <= n <= 47 or 90 <= n <= 107 or n in (38, 48) for n in numbers)

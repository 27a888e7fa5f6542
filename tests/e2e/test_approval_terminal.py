import json
import os
import signal
import sys
from pathlib import Path

from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY, grace

FOCUS_IN = "\x1b[I"


def asked(place: Place, **env: str):
    terminal = place.terminal(**env)
    terminal.until(READY)
    terminal.send("run touch made.txt\r")
    grace(terminal)
    return terminal


def test_command_is_edited_in_the_persons_own_editor_and_that_one_runs(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text().replace('made', 'edited'))\n"
    )
    with asked(place, EDITOR=f"{sys.executable} {editor}", VISUAL="") as terminal:
        terminal.send("e")
        terminal.until("Edit the command")
        terminal.send("\x07")
        terminal.until("touch edited.txt")
        terminal.send("\r")
        terminal.until("Offline model")

    assert (place.project / "edited.txt").exists()
    assert not (place.project / "made.txt").exists()


def test_terminal_that_is_lost_while_a_question_is_open_is_a_no(place: Place) -> None:
    terminal = asked(place)

    terminal.lost()

    assert not (place.project / "made.txt").exists()
    audit = place.home / ".local/state/agent-tui/audit.jsonl"
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["tool"], line["target"], line["decision"]) for line in lines] == [
        ("bash", "touch made.txt", "deny")
    ]
    [session] = (place.home / ".local/share/agent-tui/sessions").rglob("*.jsonl")
    records = [json.loads(line.split(" ", 1)[1]) for line in session.read_text().splitlines()]
    assert [r["outcome"]["effect"] for r in records if r["type"] == "outcome"] == ["denied"]
    [answer] = [record for record in records if record["type"] == "approval_response"]
    assert {one["decision"] for one in answer["verdicts"][0]["permissions"]} == {"deny"}


def test_suspend_and_return_keep_the_question_open(place: Place) -> None:
    with asked(place) as terminal:
        terminal.kill(signal.SIGTSTP)
        os.waitpid(terminal.pid, os.WUNTRACED)
        terminal.kill(signal.SIGCONT)
        terminal.quiet(0.8)
        assert not (place.project / "made.txt").exists()
        terminal.resize(90, 30)
        terminal.until("y Allow")
        terminal.quiet(0.7)
        terminal.send("y")
        terminal.until("Offline model")

    assert (place.project / "made.txt").exists()


def test_click_that_only_brings_the_window_to_the_front_decides_nothing(place: Place) -> None:
    with asked(place) as terminal:
        row, line = next((i, text) for i, text in enumerate(terminal.screen.display) if "y Allow" in text)
        column = line.index("y Allow") + 2
        click = f"\x1b[<0;{column + 1};{row + 1}M\x1b[<0;{column + 1};{row + 1}m"
        terminal.send(FOCUS_IN + click)
        terminal.quiet(0.6)
        assert "y Allow" in terminal.text
        assert not (place.project / "made.txt").exists()
        while "y Allow" in terminal.text:  # a click may still count as the first one's
            terminal.send(click)
            terminal.quiet(0.6)
        terminal.until("Offline model")

    assert (place.project / "made.txt").exists()


def test_lines_that_a_terminal_pastes_without_marks_decide_nothing(place: Place) -> None:
    with asked(place) as terminal:
        terminal.send("y\r" * 40)
        terminal.send(FOCUS_IN)
        grace(terminal)

        assert "touch made.txt" in terminal.quiet()
        assert not (place.project / "made.txt").exists()
        terminal.send("n\r")
        terminal.until("(denied)")

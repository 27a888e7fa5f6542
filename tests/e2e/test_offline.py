import json
import signal

from tests.e2e.conftest import FILES, Place
from tests.support.terminal import Terminal

READY = "Ask anything"
OPEN = "Approve"


def grace(terminal: Terminal) -> None:
    """Let the approval screen's half second pass in which keys decide nothing."""
    terminal.until("y Allow")
    terminal.quiet(0.7, wait_s=2)


def test_project_is_explained_from_its_own_files(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("explain this project\r")

        screen = terminal.until("Offline model")

    assert "Counts petals." in screen


def test_first_run_says_how_to_connect_a_model(place: Place) -> None:
    with place.terminal() as terminal:
        screen = terminal.until("ANTHROPIC_API_KEY")

        screen += terminal.until("explain this project")

    assert "OPENAI_BASE_URL" in screen
    assert "'tour'" in screen


def test_replace_is_shown_as_a_diff_and_done_once_allowed(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("replace hello with goodbye in src/petals.py\r")
        grace(terminal)
        screen = terminal.text
        assert place.project.joinpath("src/petals.py").read_text() == FILES["src/petals.py"]
        terminal.send("y\r")
        terminal.until(lambda text: OPEN not in text and "Offline model" in text)

    assert "- " in screen
    assert "goodbye petals" in screen
    assert place.project.joinpath("src/petals.py").read_text() == FILES["src/petals.py"].replace(
        "hello", "goodbye"
    )


def test_denied_replace_changes_nothing_and_the_reply_says_so(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("replace hello with goodbye in src/petals.py\r")
        grace(terminal)
        terminal.send("n\r")
        terminal.until(lambda text: OPEN not in text and "Offline model" in text)

    assert place.project.joinpath("src/petals.py").read_text() == FILES["src/petals.py"]


def test_tests_of_the_project_run(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("run python3 -m unittest discover -s tests\r")
        grace(terminal)
        terminal.send("y\r")

        terminal.until(lambda text: "exit code: 0" in text and OPEN not in text)


def test_tour_with_mixed_decisions_does_what_was_decided(place: Place) -> None:
    with place.terminal(rows=50) as terminal:
        terminal.until(READY)
        terminal.send("tour\r")
        grace(terminal)
        assert (
            "Approve 5 calls" in terminal.text or "Approve 6 calls" in terminal.text
        )  # git status asks where the sandbox is weak
        terminal.send("y")  # the first file, once
        terminal.quiet(0.2)
        terminal.send("n")  # the second not
        terminal.quiet(0.2)
        terminal.send("p")  # mkdir, always
        terminal.until("covers 1 of")
        terminal.send("\r")
        terminal.until("again stores it")
        terminal.send("\r")
        terminal.until("2 allowed")
        terminal.send("x")  # the rest not
        terminal.until(
            lambda text: "Approve" in text and " open" not in text.split("Approve")[1].split("\n")[0]
        )
        terminal.send("\r")
        terminal.until("Allow this?")  # the second round shows a real diff
        grace(terminal)
        terminal.send("y\r")
        terminal.until(lambda text: "Allow this?" not in text and "Offline model" in text)
        tour = place.project / ".agent-tour"
        assert len(list(tour.glob("greet-*.py"))) == 1
        assert not list(tour.glob("notes-*.md"))
        assert (tour / "out").is_dir()
        grant = json.loads(place.grants())
        assert (grant["decision"], grant["scope"]) == ("allow", "project")
        assert grant["pattern"].startswith("Bash(mkdir")

    command = json.dumps({"command": "mkdir -p .agent-tour/out && ls .agent-tour"})
    again = place.run("tool", "bash", "--json", command)
    assert again.returncode == 0, again.stdout + again.stderr


def test_killed_in_the_middle_of_a_turn_nothing_acknowledged_is_lost(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("replace hello with goodbye in src/petals.py\r")
        terminal.until("y Allow")
        terminal.kill(signal.SIGKILL)
        assert terminal.wait() == -signal.SIGKILL

    with place.terminal("--continue") as terminal:
        screen = terminal.until("replace hello with goodbye")
        terminal.send("explain this project\r")
        terminal.until("Counts petals.")

    assert "replace hello" in screen
    assert place.project.joinpath("src/petals.py").read_text() == FILES["src/petals.py"]


def test_two_ctrl_d_end_the_program_and_leave_the_terminal_as_it_was(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("\x04\x04")

        assert terminal.wait() == 0

    assert b"\x1b[?1049l" in terminal.raw
    assert terminal.raw.rfind(b"\x1b[?25h") > terminal.raw.rfind(b"\x1b[?25l")

import shutil

from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY


def test_the_first_start_greets_once(place: Place) -> None:
    shutil.rmtree(place.home / ".local")
    with place.terminal() as terminal:
        terminal.until("Welcome to agent-tui")
        terminal.until("no language model is connected")
        terminal.send("\r")
        terminal.until(lambda text: "Welcome to agent-tui" not in text)
        terminal.send("\x11")
        terminal.wait()
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.until("offline")

        assert "Welcome to agent-tui" not in terminal.quiet(1.0)

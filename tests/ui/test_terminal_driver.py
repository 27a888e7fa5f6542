import os
import sys
from pathlib import Path

from tests.support.terminal import Terminal

PROGRAM = """
import sys
from textual.app import App
from textual.widgets import Static
from agent_tui.ui.terminal_driver import TerminalDriver

class Small(App):
    def compose(self):
        yield Static("waits")

    def on_mount(self):
        self.call_after_refresh(self.begin)

    def begin(self):
        self._driver.release()
        self.query_one(Static).update("takes keys")

    def on_key(self):
        self.exit(sys.getswitchinterval())

used = Small(driver_class=TerminalDriver).run()
print("switches at", used, "then", sys.getswitchinterval())
"""


def test_threads_of_the_terminal_get_the_interpreter_soon_while_it_is_in_use(tmp_path: Path) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": os.getcwd()}
    with Terminal([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment) as terminal:
        terminal.until("takes keys")
        terminal.send("x")
        terminal.until(f"switches at 0.0005 then {sys.getswitchinterval()}")


def test_tmux_is_asked_to_tell_shift_enter_from_enter_and_no_longer_at_the_end(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "PYTHONPATH": os.getcwd(),
        "TMUX": "/tmp/tmux/default,1,0",
    }
    with Terminal([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment) as terminal:
        terminal.until("takes keys")
        terminal.send("\x1b[27;2;13~")
        terminal.until("switches at")

        assert 0 <= terminal.raw.find(b"\x1b[>4;1m") < terminal.raw.find(b"\x1b[>4m")

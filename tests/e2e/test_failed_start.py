import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Place
from tests.e2e.test_instant import ROOT
from tests.support.modes import Modes
from tests.support.terminal import Terminal

GATE = """
import os, time

def fail(*_args, **_options):
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.005)
    raise RuntimeError("broken on purpose")

async def fail_later(*_args, **_options):
    import asyncio
    while not os.path.exists(os.environ["GATE"]):
        await asyncio.sleep(0.005)
    raise RuntimeError("broken on purpose")
"""
FAULTS = {
    "the command line": "sys.modules['agent_tui.cli'] = Broken()",
    "wiring": "import agent_tui.wiring\nagent_tui.wiring.run_screen = fail",
    "the first frame": "import agent_tui.ui.hand_over\nagent_tui.ui.hand_over.HandOver.begin = fail",
    "the core": "import agent_tui.run.assembly\nagent_tui.run.assembly.assemble = fail_later",
    "the welcome": "import agent_tui.conversation.core\nagent_tui.conversation.core.Core.replay = fail_later",
}
Start = Callable[..., Terminal]


@pytest.fixture
def start(place: Place, tmp_path: Path) -> Start:
    def start(fault: str, *arguments: str) -> Terminal:
        script = tmp_path / "start.py"
        script.write_text(
            "import sys\n"
            "import agent_tui.__main__ as program\n"
            f"{GATE}\n"
            "class Broken:\n"
            "    __spec__ = None\n"
            "    def __getattr__(self, name):\n"
            "        fail()\n"
            "drawn = program.draw_at_once(sys.argv[1:])\n"
            "program.draw_at_once = lambda _arguments: drawn\n"
            f"{FAULTS[fault]}\n"
            "sys.exit(program.main())\n"
        )
        env = place.env(GATE=str(tmp_path / "gate"), PYTHONPATH=str(ROOT))
        return Terminal([sys.executable, str(script), *arguments], cwd=place.project, env=env)

    return start


def after_the_screen(terminal: Terminal) -> str:
    """Give what was printed once the normal screen was back."""
    return terminal.raw.rpartition(b"\x1b[?1049l")[2].decode().replace("\r\n", "\n")


@pytest.mark.parametrize("fault", FAULTS)
def test_start_that_fails_is_one_sentence_and_gives_back_what_was_typed(
    start: Start, tmp_path: Path, fault: str
) -> None:
    with start(fault) as terminal:
        terminal.until("›")
        terminal.send("count petals")
        terminal.until("› count petals")
        (tmp_path / "gate").touch()

        assert terminal.wait() == 1

    said = after_the_screen(terminal)
    assert Modes(terminal.raw).changed == {}
    assert said.count("RuntimeError: broken on purpose") == 1
    assert "Typed and not sent:\ncount petals\n" in said
    assert "Traceback" not in said


def test_session_that_cannot_be_opened_ends_the_start_with_its_sentence(place: Place) -> None:
    with place.terminal("--resume", "nosuch") as terminal:
        terminal.until("›")
        terminal.send("count petals\r")

        assert terminal.wait() == 1

    said = after_the_screen(terminal)
    assert Modes(terminal.raw).changed == {}
    assert "agent-tui: " in said
    assert "'nosuch'" in said
    assert "Typed and not sent:\ncount petals\n" in said

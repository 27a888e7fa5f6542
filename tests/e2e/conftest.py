import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.fake_servers import MessagesServer, Script
from tests.support.patience import RUN_S
from tests.support.terminal import Terminal

PROGRAM = [sys.executable, "-m", "agent_tui"]
FILES = {
    "README.md": "# Sunflower\n\nCounts petals.\n",
    "pyproject.toml": '[project]\nname = "sunflower"\nversion = "1.0"\n',
    "src/petals.py": 'def greet():\n    return "hello petals"\n\n\ndef count(flower):\n    return len(flower)  # TODO: leaves\n',
    "tests/test_petals.py": (
        "import pathlib, sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'src'))\n"
        "import petals\nimport unittest\n\n\nclass Petals(unittest.TestCase):\n"
        "    def test_count(self):\n        self.assertEqual(petals.count('abc'), 3)\n"
    ),
}


class Place:
    """A project of its own with a home of its own."""

    def __init__(self, root: Path) -> None:
        self.project = root / "sunflower"
        self.home = root / "home"
        self.home.mkdir(parents=True)
        for name, text in FILES.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.greeted()
        git = ["git", "-C", str(self.project)]
        for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
            subprocess.run([*git, *arguments], check=True)

    def greeted(self) -> None:
        """Be no first start."""
        state = self.home / ".local/state/agent-tui"
        state.mkdir(parents=True)
        (state / "preferences.json").write_text('{"welcomed": "yes"}')

    def env(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "AGENT_TUI_TEST_PACE": "0",
            **more,
        }

    def terminal(self, *arguments: str, columns: int = 120, rows: int = 40, **env: str) -> Terminal:
        return Terminal(
            [*PROGRAM, *arguments], cwd=self.project, env=self.env(**env), columns=columns, rows=rows
        )

    def run(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.project,
            env=self.env(**env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )

    def grants(self) -> str:
        path = self.home / ".local/state/agent-tui/grants.jsonl"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class Served:
    """A loopback model server in a thread of its own."""

    def __init__(self, server: MessagesServer, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self._loop = loop

    @property
    def env(self) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": "sk-test-key", "ANTHROPIC_BASE_URL": self.server.url}

    @property
    def requests(self) -> list[dict[str, object]]:
        return [request.json for request in self.server.requests]

    def open(self, gate: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(gate.set)


@contextmanager
def _served(script: Script) -> Iterator[Served]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = MessagesServer(script)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield Served(server, loop)
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def serve() -> Callable[[Script], "contextmanager[Served]"]:
    return _served

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Place
from tests.support.acp_editor import editor
from tests.support.patience import RUN_S

PAGE = (Path(__file__).parents[2] / "docs" / "acp.md").read_text()


def example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_zeds_configuration_starts_an_agent_that_answers(place: Place) -> None:
    [(name, server)] = json.loads(example("json"))["agent_servers"].items()
    assert (name, server["type"], server["command"], server["args"][0]) == (
        "agent-tui",
        "custom",
        "agent-tui",
        "acp",
    )

    async with editor({**place.env(), **server["env"]}, *server["args"][1:]) as one:
        session_id = await one.open(place.project)

        assert (await one.say(session_id, "read README.md")).stop_reason == "end_turn"


def test_the_python_client_of_the_page_runs(place: Place, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "agent-tui").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agent_tui "$@"\n')
    (programs / "agent-tui").chmod(0o755)
    (tmp_path / "client.py").write_text(example("python"))
    env = place.env()

    done = subprocess.run(
        [sys.executable, str(tmp_path / "client.py"), str(place.project), "create new.txt with hello"],
        env={**env, "PATH": f"{programs}:{env['PATH']}"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "[Write: new.txt: Allow]" in done.stdout
    assert done.stdout.endswith("(end_turn)\n")
    assert (place.project / "new.txt").read_text() == "hello\n"


def test_flags_and_commands_of_the_page_exist(place: Place) -> None:
    from agent_tui.run.acp import MODES

    shown = place.run("acp", "--help").stdout

    for flag in set(re.findall(r'"(--[a-z-]+)"', PAGE)):
        assert flag in shown
    assert all(f"`{mode}`" in PAGE for mode, _, _ in MODES)

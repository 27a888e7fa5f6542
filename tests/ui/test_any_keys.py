import os
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual import events

from agent_tui.conversation.core import Core
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.ui.app import AgentApp
from agent_tui.ui.settings import AppSettings
from tests.support.screens import Stage

RUNS = int(os.environ.get("AGENT_TUI_TEST_KEY_RUNS", "3"))
"""500 take half an hour."""
STEPS = 60
KEYS = [
    *(
        "enter",
        "enter",
        "enter",
        "escape",
        "escape",
        "tab",
        "shift+tab",
        "up",
        "down",
        "left",
        "right",
        "space",
        "backspace",
    ),
    *(
        "pageup",
        "pagedown",
        "home",
        "end",
        "ctrl+home",
        "ctrl+end",
        "shift+up",
        "alt+up",
        "alt+down",
        "alt+enter",
        "f1",
    ),
    *(f"ctrl+{letter}" for letter in "abcefgijklnoprstuvwxy"),
    *"ynapscvdeqgGjkhl?/@!#0123456789 .:[]",
]
CHORDS = "ebmnlctury/"
LINES = [
    *("explain this project", "find TODO", "read notes.md", "tour", 'call read {"file_path": "notes.md"}'),
    *(
        "replace petals with leaves in notes.md",
        "run echo hello",
        "run sleep 30",
        "list",
        "what is @notes.md",
    ),
    *(
        "!echo hi",
        "!!ls",
        "!sleep 20",
        "# a heading",
        "a\nb\nc" * 4,
        "\x1b[31mred",
        "日本語 👩‍👩‍👧 \u202etxt",
        "x" * 3_000,
    ),
]
AWAY = {"/quit", "/exit", "/q"}
"""What ends the program, which is nobody's fault."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "notes.md").write_text("# Notes\n\nTODO: count petals\n" * 20)
    subprocess.run(["git", "-C", str(made), "init", "-q"], check=True)
    for name in ("EDITOR", "VISUAL", "PAGER", "BROWSER"):
        monkeypatch.setenv(name, "true")
    monkeypatch.chdir(made)
    return made


async def acts(here: Stage, chance: random.Random) -> AsyncIterator[str]:
    """Do random things; gives each before it is done."""
    commands = [
        f"/{name}"
        for command in here.app.registry.all()
        for name in (command.name, *command.aliases)
        if f"/{name}" not in AWAY
    ]
    for _ in range(STEPS):
        match chance.choices(
            ["key", "chord", "line", "command", "resize", "click", "wheel"], [60, 4, 12, 14, 4, 4, 2]
        )[0]:
            case "key":
                key = chance.choice(KEYS)
                yield key
                await here.press(key)
            case "chord":
                key = chance.choice(CHORDS)
                yield f"ctrl+x {key}"
                await here.press("ctrl+x", key)
            case "line":
                line = chance.choice(LINES)
                yield line[:60]
                await here.send(line)
            case "command":
                words = chance.choice(
                    ["", "", "list", "show", "1", "dark", "no such thing", "add", "'", "\x00"]
                )
                line = f"{chance.choice(commands)} {words}".strip()
                yield line
                await here.send(line)
            case "resize":
                size = chance.choice([(1, 1), (20, 5), (40, 12), (80, 24), (120, 40), (300, 3)])
                yield f"resize {size}"
                await here.pilot.resize_terminal(*size)
            case "click":
                width, height = here.app.size
                place = chance.randrange(max(1, width)), chance.randrange(max(1, height))
                yield f"click {place}"
                await here.pilot.click(offset=place)
            case _:
                yield "wheel"
                widget = here.app.transcript
                widget.post_message(
                    events.MouseScrollUp(
                        widget, x=1, y=1, delta_x=0, delta_y=-3, button=0, shift=False, meta=False, ctrl=False
                    )
                )
        await here.settle()


@pytest.mark.parametrize("number", range(RUNS))
async def test_no_keys_commands_and_sizes_in_any_order_bring_the_program_down(
    project: Path, number: int
) -> None:
    seed = number if "AGENT_TUI_TEST_KEY_RUNS" in os.environ else random.randrange(1 << 30)
    chance = random.Random(seed)
    cores: list[Core] = []
    log = project.parent / "crash.log"
    done: list[str] = []

    async def load() -> Core:
        cores.append(await assemble(RunOptions(provider="offline"), project, with_screen=True))
        return cores[0]

    app = AgentApp(load, settings=AppSettings(grace_s=0.0, typing_s=0.0, crash_log=log))
    async with app.run_test(size=(100, 30)) as pilot:
        here = Stage(app, pilot, None)
        await here.until(lambda: app.link is not None)
        async for act in acts(here, chance):
            done.append(act)
            if not app.is_running:
                break
        if app.is_running:
            await pilot.resize_terminal(100, 30)
            app.actions.perform("interrupt") if app.driver.busy else None
    told = f"seed {seed}: {app.crash_message}\n{log.read_text()[-3000:] if log.exists() else ''}\n{done}"
    assert not log.exists(), told

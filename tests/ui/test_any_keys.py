import os
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Size

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
PASTES = [
    *(
        "one line",
        "two\nlines\n",
        "\r\n\r\r\n",
        "\x1b]0;title\x07\x1b[2J\x00",
        "\u202e \ufffd",
        "/tmp/no such file.png",
    ),
    *("e\u0301" * 500, "wide 日本語 " * 300, "line\n" * 20_000, "@" * 200, "x" * 400_000),
]
THEMES = ["light", "dark", "terminal", "dracula", "high-contrast-light", "colour-blind-dark", "none", ""]
VIM = [
    *"iIaAoOxXdwbe0$gGuprvVyc.123fFtT%;,J~><:",
    "escape",
    "escape",
    "ctrl+r",
    "ctrl+v",
    "enter",
    "backspace",
]
ASKING = [
    "replace petals with leaves in notes.md",
    'call write {"file_path": "new.md", "content": "a\\nb\\n\\u001b[2J"}',
    'call bash {"command": "touch made; rm -r no-such"}',
    'call write {"file_path": "long.md", "content": "' + "line\\\\n" * 3_000 + '"}',
    'call bash {"command": "echo ' + "x" * 20_000 + '"}',
    'call edit {"file_path": "\\u0000", "old_string": "", "new_string": "\\ud800"}',
]
ACTS = {
    "key": 50,
    "chord": 4,
    "line": 10,
    "command": 12,
    "resize": 3,
    "storm": 2,
    "click": 4,
    "drag": 3,
    "wheel": 3,
    "paste": 4,
    "focus": 2,
    "theme": 2,
    "vim": 2,
    "ask": 5,
}
"""What is done, and how often."""
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


class Hands:
    """Do random things to the program; each act says what it is about to do."""

    def __init__(self, here: Stage, chance: random.Random) -> None:
        self.here, self.chance = here, chance
        self.commands = [
            f"/{name}"
            for command in here.app.registry.all()
            for name in (command.name, *command.aliases)
            if f"/{name}" not in AWAY
        ]

    async def acts(self) -> AsyncIterator[str]:
        """Give each act before it is done."""
        for _ in range(STEPS):
            act = self.chance.choices(list(ACTS), list(ACTS.values()))[0]
            async for said in getattr(self, act)():
                yield said
            await self.here.settle()

    async def key(self) -> AsyncIterator[str]:
        key = self.chance.choice(KEYS)
        yield key
        await self.here.press(key)

    async def chord(self) -> AsyncIterator[str]:
        key = self.chance.choice(CHORDS)
        yield f"ctrl+x {key}"
        await self.here.press("ctrl+x", key)

    async def line(self) -> AsyncIterator[str]:
        line = self.chance.choice(LINES)
        yield line[:60]
        await self.here.send(line)

    async def command(self) -> AsyncIterator[str]:
        words = self.chance.choice(["", "", "list", "show", "1", "dark", "no such thing", "add", "'", "\x00"])
        line = f"{self.chance.choice(self.commands)} {words}".strip()
        yield line
        await self.here.send(line)

    async def resize(self) -> AsyncIterator[str]:
        size = self.chance.choice([(1, 1), (20, 5), (40, 12), (80, 24), (120, 40), (300, 3)])
        yield f"resize {size}"
        await self.here.pilot.resize_terminal(*size)

    async def storm(self) -> AsyncIterator[str]:
        """Sizes that change faster than they are drawn."""
        sizes = [(self.chance.randrange(1, 200), self.chance.randrange(1, 60)) for _ in range(8)]
        yield f"sizes {sizes}"
        for width, height in sizes:
            size = Size(width, height)
            self.here.app.post_message(events.Resize(size, size))

    def place(self) -> tuple[int, int]:
        width, height = self.here.app.size
        return self.chance.randrange(max(1, width)), self.chance.randrange(max(1, height))

    async def click(self) -> AsyncIterator[str]:
        place, times = self.place(), self.chance.choice([1, 1, 2, 3])
        yield f"{times} clicks {place}"
        await self.here.pilot.click(offset=place, times=times, shift=self.chance.random() < 0.2)

    async def drag(self) -> AsyncIterator[str]:
        """Press, move and perhaps let go, so that the button may stay down while other things happen."""
        places = [self.place() for _ in range(3)]
        yield f"drag {places}"
        await self.here.pilot.mouse_down(offset=places[0])
        for place in places[1:]:
            await self.here.pilot.hover(offset=place)
        if self.chance.random() < 0.7:
            await self.here.pilot.mouse_up(offset=places[-1])

    async def wheel(self) -> AsyncIterator[str]:
        kind = self.chance.choice([events.MouseScrollUp, events.MouseScrollDown])
        yield kind.__name__
        widget = self.here.app.transcript
        widget.post_message(
            kind(widget, x=1, y=1, delta_x=0, delta_y=-3, button=0, shift=False, meta=False, ctrl=False)
        )

    async def paste(self) -> AsyncIterator[str]:
        text = self.chance.choice(PASTES)
        yield f"paste {text[:40]!r} of {len(text)}"
        self.here.app.post_message(events.Paste(text))

    async def focus(self) -> AsyncIterator[str]:
        event = self.chance.choice([events.AppFocus, events.AppBlur])
        yield event.__name__
        self.here.app.post_message(event())

    async def theme(self) -> AsyncIterator[str]:
        line = f"/theme {self.chance.choice(THEMES)}"
        yield line
        await self.here.send(line)

    async def vim(self) -> AsyncIterator[str]:
        keys = self.chance.choices(VIM, k=12)
        yield f"vim {' '.join(keys)}"
        if self.here.app.keys.preset != "vim":
            await self.here.send("/vim")
        await self.here.press("escape", *keys)

    async def ask(self) -> AsyncIterator[str]:
        """Bring an approval up, comment on it, perhaps change it, and answer or leave it."""
        line = self.chance.choice(ASKING)
        keys = self.chance.choices(
            ["c", "e", "down", "space", "x", "tab", "v", "pagedown", "right", "/"], k=3
        )
        text = self.chance.choice(["why?", "\x1b[2Jno", "日本", ""])
        last = self.chance.choice(["enter", "escape", "y", "n", "a", "ctrl+c", "f1"])
        yield f"{line} {keys} {text!r} {last}"
        await self.here.send(line)
        await self.here.press(*keys)
        self.here.app.post_message(events.Paste(text))
        await self.here.press("enter", last)


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
        async for act in Hands(here, chance).acts():
            done.append(act)
            if not app.is_running:
                break
        if app.is_running:
            await pilot.resize_terminal(100, 30)
            app.actions.perform("interrupt") if app.driver.busy else None
        await cores[0].aclose()  # what it runs ends with it, also when leaving had no time to wait for all
    told = f"seed {seed}: {app.crash_message}\n{log.read_text()[-3000:] if log.exists() else ''}\n{done}"
    assert not log.exists(), told

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.app import AgentApp
from agent_tui.ui.backend import StatusView
from agent_tui.ui.settings import UiSettings
from tests.support.fake_backend import FakeBackend, approve, bash_request, mixed_round, settled_request
from tests.support.gallery import at_rest
from tests.support.screens import Clock, Stage

# The plugin keeps its folder in the environment, which every test starts without.
PLUGIN_FOLDER = {name: value for name, value in os.environ.items() if name.startswith("TEXTUAL_SNAPSHOT")}
THEMES = Path(__file__).parents[2] / "themes"
Snap = Callable[..., bool]
STATUS = StatusView(
    provider="anthropic",
    model="model-x",
    mode="accept-edits",
    context_tokens=52_000,
    context_limit_tokens=200_000,
    input_tokens=41_000,
    output_tokens=3_200,
    cache_read_tokens=310_000,
    cost_usd=0.42,
    session_id="s-1",
    session_name="parser",
    sandbox="strong",
    branch="main",
)
TALK = [
    ReplayBlock(kind="user", text="Make the entry point take its arguments."),
    ReplayBlock(kind="assistant", text="I change `main` and its caller, then I run the tests."),
    ReplayBlock(
        kind="tool",
        text="2 passed",
        tool="bash",
        display_name="Bash",
        title="pytest -q",
        elapsed_s=1.4,
        call_id="c0",
    ),
    ReplayBlock(kind="decision", text="allowed for this session (Bash(pytest *)): Bash: pytest -q"),
]


@pytest.fixture(autouse=True)
def _plugin_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PLUGIN_FOLDER.items():
        monkeypatch.setenv(name, value)


def program(theme: str, *, requests=(), settled=(), order=(), blocks=TALK) -> AgentApp:
    workspace = Path("/proj")
    asked = approve(*requests, settled=settled, order=order)
    backend = FakeBackend(workspace, blocks=list(blocks), status=STATUS, script=[[asked]])

    async def load() -> FakeBackend:
        return backend

    settings = UiSettings(theme=theme, theme_folders=(THEMES,), clock=Clock(), grace_s=0.0, typing_s=0.0)
    return AgentApp(load, settings=settings)


def then(*keys: str, prompt: str = "") -> Callable[[Pilot[int]], object]:
    async def run(pilot: Pilot[int]) -> None:
        app = pilot.app
        assert isinstance(app, AgentApp)
        while app.link is None:
            await pilot.pause(0.01)
        if prompt:
            app.prompt.put(prompt)
            app.completion.close()
            await pilot.press("enter")
            while not app.in_dialog:
                await pilot.pause(0.01)
        here = Stage(app, pilot, FakeBackend(Path("/proj")))
        for key in keys:
            await at_rest(here)
            await here.press(key)
        await at_rest(here)

    return run


@pytest.mark.parametrize(
    ("theme", "size"),
    [("dark", (120, 40)), ("light", (120, 40)), ("dark", (80, 24)), ("light", (60, 20)), ("dark", (20, 5))],
)
def test_the_approval_of_a_round(snap_compare: Snap, theme: str, size: tuple[int, int]) -> None:
    settled = [
        settled_request("r1", "README.md", rule="built-in: inside the project"),
        settled_request("r2", "keys.env", rule="deny Read(*.env)", denied=True),
    ]
    app = program(theme, requests=mixed_round(), settled=settled, order=["r1", "c1", "c2", "r2"])
    assert snap_compare(app, terminal_size=size, run_before=then("y", "n", prompt="go"))


@pytest.mark.parametrize(("theme", "size"), [("dark", (100, 30)), ("light", (80, 24)), ("light", (20, 5))])
def test_the_approval_of_one_call(snap_compare: Snap, theme: str, size: tuple[int, int]) -> None:
    app = program(theme, requests=[bash_request("c1", "cd src && pytest -q 2>&1 | tail -20")])
    assert snap_compare(app, terminal_size=size, run_before=then(prompt="go"))


@pytest.mark.parametrize(("theme", "size"), [("dark", (120, 40)), ("light", (80, 24)), ("dark", (40, 12))])
def test_the_conversation_with_its_prompt(snap_compare: Snap, theme: str, size: tuple[int, int]) -> None:
    assert snap_compare(program(theme), terminal_size=size, run_before=then())

"""Every screen of the program, each with the same content at every size and in every theme."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from textual.geometry import Region
from textual.pilot import Pilot

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.toolkit.context import Question, QuestionOption
from agent_tui.ui.app import AgentApp
from agent_tui.ui.backend import RuleView, SessionView, StatusView
from agent_tui.ui.changes import ChangeView
from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.commands.registry import Registry
from agent_tui.ui.configuring import PlaceView, SettingScope, SettingsView, SettingView
from agent_tui.ui.house import JobLine, TrustLine, TrustView
from agent_tui.ui.past import PointView
from agent_tui.ui.rulings import DecisionView
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.servers import ServerView
from agent_tui.ui.settings import AppSettings
from tests.support.approval_requests import bash_request, mixed_round, settled_request
from tests.support.fake_backend import FakeBackend, Step, approve
from tests.support.screens import Clock, Stage

THEMES = Path(__file__).parents[2] / "themes"
_LISTED = 16
_SENT = ("search", "permissions", "config", "tasks", "yolo")
"""Commands in the pictures, besides the one that a scene sends: one that is added later changes none of them."""
SIZES = ((120, 40), (80, 24), (40, 12))
SMALL_SIZES = ((60, 20), (20, 5))
"""Besides, for the screens where somebody decides."""
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
    workspace="/proj",
)
MARKDOWN = """I change `main` and its caller, then I run the tests.

## What changes

1. The entry point takes its **arguments**; see [the docs](https://docs.example.com).
   * nested, with *emphasis*
2. Its caller passes them on.

| file | change |
|---|---:|
| `src/app.py` | +3 |
| `src/cli.py` | -1 |

> Nothing else is touched.

```python
def main(arguments: list[str]) -> int:
    return run(arguments)  # 0 is good
```
"""
DIFF = """--- a/src/app.py
+++ b/src/app.py
@@ -1,3 +1,3 @@
 import sys
-def main():
+def main(arguments):
     return 0
"""
TALK = [
    ReplayBlock(kind="user", text="Make the entry point take its arguments."),
    ReplayBlock(kind="thinking", text="The caller is in cli.py; both must change together."),
    ReplayBlock(kind="assistant", text=MARKDOWN),
    ReplayBlock(
        kind="tool",
        text=DIFF,
        tool="edit",
        display_name="Edit",
        title="src/app.py",
        content_type="diff",
        path="src/app.py",
        starts_open=True,
        summary="+1 -1",
        full_length=len(DIFF),
        full_lines=6,
        call_id="c0",
    ),
    ReplayBlock(
        kind="tool",
        text="2 passed",
        tool="bash",
        display_name="Bash",
        title="pytest -q",
        elapsed_s=1.4,
        summary="2 passed",
        content_type="terminal",
        full_length=8,
        full_lines=1,
        call_id="c1",
    ),
    ReplayBlock(
        kind="tool",
        text="error: no rule to make target 'docs'",
        tool="bash",
        display_name="Bash",
        title="make docs",
        state="error",
        elapsed_s=0.2,
        content_type="terminal",
        full_length=36,
        full_lines=1,
        call_id="c2",
    ),
    ReplayBlock(kind="decision", text="allowed for this session (Bash(pytest *)): Bash: pytest -q"),
    ReplayBlock(kind="notice", text="! The file was changed by another program meanwhile."),
]
SETTINGS = SettingsView(
    settings=(
        SettingView("model.provider", "anthropic", "", "empty: by the keys there are", "/c/config.toml:3"),
        SettingView("model.name", "model-x", "", "empty: the provider's default", "--model"),
        SettingView(
            "permissions.mode",
            "default",
            "default",
            "the mode to start in",
            "default",
            choices=("default", "accept-edits", "plan"),
        ),
        SettingView(
            "ui.theme",
            "nord",
            "dark",
            "the screen",
            "/c/config.toml:9",
            places=(
                PlaceView("user", "/c/config.toml:9", "nord", True),
                PlaceView("project", "/proj/.agent-tui/config.toml:2", "light", False),
            ),
        ),
        SettingView("limits.max_rounds", "64", "64", "where a turn pauses. 0 means no limit", "default"),
    ),
    problems=(
        "/c/config.toml:12: ui.thema: is not a setting of this version; it is ignored",
        "/proj/.agent-tui/config.toml:7: no tool 'Bsh'; did you mean 'Bash'?",
    ),
    files=(
        ("user", "/c/config.toml"),
        ("project", "/proj/.agent-tui/config.toml"),
        ("project-private", "/proj/.agent-tui/config.local.toml"),
        ("managed", "/etc/agent-tui/config.toml"),
    ),
)


class Desk:
    async def look(self) -> SettingsView:
        return SETTINGS

    async def set(self, key: str, text: str, scope: SettingScope) -> str:
        return ""

    async def unset(self, key: str, scope: SettingScope) -> str:
        return ""

    def where(self, scopes: object = ()) -> list[tuple[str, str]]:
        return list(SETTINGS.files)


@dataclass(frozen=True)
class Scene:
    """How a screen is reached: what the core plays, what is sent, which keys follow, and what shows that it is there.

    `meanwhile` is sent while the turn of `send` runs.
    """

    shows: str
    send: str = ""
    meanwhile: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    script: tuple[Step, ...] = ()
    blocks: tuple[ReplayBlock, ...] = tuple(TALK)
    first_run: bool = False
    prepare: Callable[[FakeBackend], None] = field(default=lambda _backend: None)


async def _question(backend: FakeBackend) -> None:
    options = (
        QuestionOption(label="Keep both", description="the old name stays as an alias"),
        QuestionOption(label="Rename only"),
    )
    first = Question(question="What becomes of the old name?", header="Names", options=options)
    second = Question(question="Which platforms?", header="Platforms", options=options, multiple=True)
    await backend.ask([first, second])


def _trust(backend: FakeBackend) -> None:
    backend.house.trust_view = TrustView(
        lines=(
            TrustLine("runs an MCP server", "docs", "npx docs-server --all", ".mcp.json"),
            TrustLine("allows", "Bash(make *)", "without asking", ".agent-tui/config.toml"),
            TrustLine("loads a tool", "deploy", ".agent-tui/tools/deploy.py", ".agent-tui/tools/deploy.py"),
        ),
        digest="d",
        changed=True,
        diff="--- a/.mcp.json\n+++ b/.mcp.json\n@@ -1 +1 @@\n-docs-server\n+docs-server --all\n",
    )


def _rules(backend: FakeBackend) -> None:
    backend.rule_views = [
        RuleView("r1", "allow", "Bash(git diff *)", "user", "/c/config.toml:4"),
        RuleView("r2", "ask", "Bash(git push *)", "project", ".agent-tui/config.toml:8"),
        RuleView("r3", "deny", "Read(**/*.pem)", "user", "/c/config.toml:6"),
        RuleView("g1", "allow", "Edit(/src/**)", "session", "this session", removable=True),
    ]
    backend.rulings.views = [
        DecisionView(1, "allow", "12:04", "Bash: pytest -q", "session", "you", "Bash(pytest *)"),
        DecisionView(2, "deny", "12:03", "Bash: curl example.com", "once", "you", ""),
    ]


def _sessions(backend: FakeBackend) -> None:
    backend.session_views = [
        SessionView("s-1", "parser", 0.0, 4, "Make the entry point take its arguments.", "/proj"),
        SessionView("s-2", "", 0.0, 12, "Why does the build fail on macOS?", "/proj"),
        SessionView("s-3", "docs", 0.0, 1, "Write the page about themes.", "/other"),
    ]
    backend.past.excerpts = {"s-1": "Both files are changed and the tests pass."}


def _jobs(backend: FakeBackend) -> None:
    backend.house.job_lines = [
        JobLine("job-1", "npm run dev", "running", True, "listening on 3000"),
        JobLine("job-2", "make docs", "exit code 2", False, "no rule"),
    ]


def _history(backend: FakeBackend) -> None:
    backend.history = ["Fix the parser", "Explain this project", "Why does the build fail on macOS?"]


def _points(backend: FakeBackend) -> None:
    backend.past.views = [
        PointView("e1", "Make the entry point take its arguments.", 0.0, 0, active=True),
        PointView(
            "e2", "Write the page about themes, with one picture of each", 0.0, 1, active=False, label="docs"
        ),
        PointView("e3", "Why does the build fail on macOS?", 0.0, 1, active=True),
    ]
    backend.past.too_large = ["data/films.sqlite"]


def _changed(backend: FakeBackend) -> None:
    other = DIFF.replace("src/app.py", "docs/entry.md").replace("def main", "The entry")
    backend.past.changes.differing["turn"] = [
        ChangeView("src/app.py", DIFF, 1, 1),
        ChangeView("docs/entry.md", other, 1, 1, conflict="changed by hand since"),
    ]


def _servers(backend: FakeBackend) -> None:
    backend.mcp.views = [
        ServerView(
            "docs",
            "ready",
            "4 tools, 2 resources",
            origin=".mcp.json",
            tools=("search", "fetch", "list", "open"),
        ),
        ServerView("tickets", "needs login", "https://tickets.example/mcp", origin="/c/config.toml:21"),
        ServerView("old", "failed", "the program 'old-server' is not there", origin="/c/config.toml:25"),
        ServerView("quiet", "off", "", origin="/c/config.toml:30"),
    ]


async def _never_ends(_backend: FakeBackend) -> None:
    await asyncio.Event().wait()


PICTURED = (
    ReplayBlock(
        kind="user",
        text="What is wrong with @img:1.png ?",
        images=("PNG, 1280x800 pixels, 182,311 bytes, @img:1.png",),
    ),
    ReplayBlock(
        kind="tool",
        text="Image docs/pictures/start.png: image/png, 640x480 pixels, 12,345 bytes.",
        tool="read",
        display_name="Read",
        title="docs/pictures/start.png",
        summary="image, 640x480 pixels",
        images=("PNG, 640x480 pixels, 12,345 bytes, docs/pictures/start.png",),
        call_id="c0",
    ),
    ReplayBlock(kind="assistant", text="The border of the prompt is cut at the right."),
)
SETTLED = (
    settled_request("r1", "README.md", rule="built-in: inside the project"),
    settled_request("r2", "keys.env", rule="deny Read(*.env)", denied=True),
)
ORDER = ("r1", "c1", "c2", "c3", "c4", "r2", "c5", "c6", "c7")
ROUND = (approve(*mixed_round(), settled=SETTLED, order=ORDER),)

SCENES: dict[str, Scene] = {
    "conversation": Scene("model-x"),
    "empty": Scene("Ask anything", blocks=()),
    "welcome": Scene("Welcome", blocks=(), first_run=True),
    "commands": Scene("/", keys=("/",)),
    "help": Scene("Commands", keys=("f1",)),
    "palette": Scene("/", keys=("ctrl+x", "/")),
    "themes": Scene("Theme", keys=("ctrl+x", "t")),
    "models": Scene("scripted-2", keys=("alt+p",)),
    "sessions": Scene("build fail", keys=("ctrl+x", "l"), prepare=_sessions),
    "history": Scene("Earlier", keys=("ctrl+r",), prepare=_history),
    "search": Scene("of", send="/search main"),
    "reader": Scene("% of", keys=("ctrl+o",)),
    "marked": Scene("model-x", keys=("alt+up", "alt+up", "alt+up")),
    "permissions": Scene("git diff", send="/permissions", prepare=_rules),
    "trust": Scene("Trust", prepare=_trust),
    "settings": Scene("model.name", send="/config"),
    "settings-project": Scene("config.toml", send="/config", keys=("tab", "tab", "down", "down", "down")),
    "settings-value": Scene("model.name", send="/config", keys=("down", "enter")),
    "settings-problems": Scene("thema", send="/config problems"),
    "tasks": Scene("job-1", send="/tasks", prepare=_jobs),
    "queue": Scene(
        "then run", send="go", meanwhile=("use tabs, not spaces", "then run the tests"), script=(_never_ends,)
    ),
    "images": Scene("[image", blocks=PICTURED, keys=("ctrl+v",)),
    "rewind": Scene("Rewind", send="/rewind", prepare=_points),
    "copy": Scene("whole reply", send="/copy"),
    "diff": Scene("app.py", send="/diff", prepare=_changed),
    "mcp": Scene("tickets", send="/mcp", prepare=_servers),
    "bypass": Scene("Stop asking", send="/yolo"),
    "question": Scene("old name", send="go", script=(_question,)),
    "approval": Scene("execute", send="go", keys=("y", "n"), script=ROUND),
    "approval-one": Scene(
        "Allow this?", send="go", script=(approve(bash_request("c1", "cd src && pytest -q 2>&1 | tail -20")),)
    ),
    "approval-why": Scene("Why", send="go", keys=("down", "down", "?"), script=ROUND),
    "approval-comment": Scene("Say to the model", send="go", keys=("c", "o", "k"), script=ROUND),
    "approval-edit": Scene("Edit the command", send="go", keys=("down", "down", "e"), script=ROUND),
    "approval-permissions": Scene("execute", send="go", keys=("n", "tab", "down"), script=ROUND),
    "approval-grouped": Scene("Grouped by tool", send="go", keys=("g", "g"), script=ROUND),
    "approval-always": Scene("Always allow", send="go", keys=("down", "down", "down", "p"), script=ROUND),
    "approval-lowered": Scene("7 calls wait", send="go", keys=("escape",), script=ROUND),
}


def program(
    scene: Scene, theme: str, *, folders: tuple[Path, ...] = (THEMES,)
) -> tuple[AgentApp, FakeBackend]:
    """Give the program and its core for a scene."""
    backend = FakeBackend(
        Path("/proj"),
        blocks=[replace(block) for block in scene.blocks],
        status=STATUS,
        script=[list(scene.script)] if scene.script else [],
    )
    backend.house.desk = Desk()
    scene.prepare(backend)

    async def load() -> FakeBackend:
        return backend

    settings = AppSettings(
        theme=theme,
        theme_folders=folders,
        clock=Clock(),
        grace_s=0.0,
        typing_s=0.0,
        grants_file=Path.home() / ".local/state/agent-tui/grants.jsonl",
        first_run=scene.first_run,
    )
    app = AgentApp(load, settings=settings)
    commands = builtin_commands()
    sent = (*_SENT, *scene.send.removeprefix("/").split()[:1])
    app.registry = Registry([*commands[:_LISTED], *(one for one in commands[_LISTED:] if one.name in sent)])
    return app, backend


_IN_SMALL = ("approval", "approval-one", "approval-comment", "approval-edit", "approval-why")
PICTURES = [(name, size) for name in SCENES for size in (*SIZES, *(SMALL_SIZES if name in _IN_SMALL else ()))]


def in_front(app: AgentApp) -> Region | None:
    """Give the frame of an open dialog, None where the whole screen is in front."""
    if not isinstance(app.screen, Dialog) or app.screen.styles.background.a == 0:
        return None
    return app.screen.query_one(".frame").region


async def reach(scene: Scene, app: AgentApp, pilot: Pilot[int], backend: FakeBackend) -> Stage:
    """Go where the scene is."""
    here = Stage(app, pilot, backend)
    await here.until(lambda: app.link is not None)
    await here.settle()
    if scene.send:
        await here.send(scene.send)
        if scene.keys:
            await here.until(lambda: app.in_dialog)
    for text in scene.meanwhile:
        await here.until(lambda: app.driver.busy)
        await here.send(text)
    for key in scene.keys:
        await at_rest(here)
        await here.press(key)
    shows = scene.shows if app.size.height >= SIZES[-1][1] else ""
    try:
        await here.until(lambda: shows in here.picture())
    except AssertionError:
        raise AssertionError(f"{scene.shows!r} is not shown\n{here.picture()}") from None
    await at_rest(here)
    return here


async def at_rest(here: Stage) -> None:
    """Wait until the screen stands still."""
    last, same = "", 0
    while same < 3:
        await here.pilot.pause(0.02)
        now = here.picture()
        last, same = now, same + 1 if now == last else 0

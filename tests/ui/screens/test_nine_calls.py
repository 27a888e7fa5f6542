import hashlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_tui.conversation.core import Core
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.ui.app import AgentApp
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import AppSettings
from tests.support.fake_servers import MessagesServer, Script, Tool, message
from tests.support.screens import Stage

SERVER = Path(__file__).parents[2] / "support" / "mcp_servers" / "tiny.py"
SOURCE = 'def greet():\n    return "hello"\n\n\ndef count(flower):\n    return len(flower)\n'
CONFIG = f"""
[permissions]
deny = ["Bash(rm *)"]
allow = ["Task"]

[mcp.servers.tiny]
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(SERVER))}]
"""


ASKED = ("first", "low", "high", "second", "outside", "net", "mcp")


def edit(call_id: str, old: str, new: str) -> Tool:
    return Tool(call_id, "edit", {"file_path": "src/petals.py", "old_string": old, "new_string": new})


def calls(outside: Path) -> list[Tool]:
    return [
        Tool("read", "read", {"file_path": "src/petals.py"}),
        Tool("ruled", "bash", {"command": "rm -rf src"}),
        edit("first", '"hello"', '"good day"'),
        Tool("low", "bash", {"command": "touch made.txt"}),
        Tool("high", "bash", {"command": "git push --force"}),
        edit("second", "len(flower)", "len(flower.petals)"),
        Tool("outside", "write", {"file_path": str(outside), "content": "x\n"}),
        Tool("net", "bash", {"command": "curl https://docs.example.com/petals"}),
        Tool("mcp", "mcp__tiny__echo", {"text": "hi"}),
        Tool("agent", "task", {"description": "note it", "prompt": "Write the note.", "agent": "general"}),
    ]


@dataclass
class World:
    stage: Stage
    core: Core
    server: MessagesServer
    project: Path
    home: Path
    outside: Path

    def results(self) -> dict[str, tuple[bool, str]]:
        last = self.server.requests[-1].json["messages"][-1]
        return {
            block["tool_use_id"]: (block.get("is_error", False), json.dumps(block["content"]))
            for block in last["content"]
            if block["type"] == "tool_result"
        }

    def ran(self) -> list[str]:
        """The calls of the main agent that ran, in the order in which they ended."""
        files = [path.read_text() for path in (self.home / "data").rglob("sessions/**/*.jsonl")]
        [text] = [text for text in files if '"ruled"' in text]
        records = [json.loads(line.split(" ", 1)[1]) for line in text.splitlines()]
        outcomes = [record["outcome"] for record in records if record["type"] == "outcome"]
        return [one["tool_use_id"] for one in outcomes if one.get("effect", "ran") == "ran"]

    def lines(self, name: str) -> list[dict[str, Any]]:
        [path] = self.home.rglob(name)
        return [json.loads(line) for line in path.read_text().splitlines()]


@asynccontextmanager
async def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> AsyncIterator[World]:
    project, home = tmp_path / "sunflower", tmp_path / "home"
    (project / "src").mkdir(parents=True)
    (project / "src" / "petals.py").write_text(SOURCE)
    config = home / "config" / "agent-tui" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    subprocess.run(["git", "-C", str(project), "init", "-q"], check=True)
    for kind in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    async with MessagesServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        cores: list[Core] = []

        async def load() -> Core:
            cores.append(await assemble(RunOptions(), project, with_screen=True))
            return cores[0]

        app = AgentApp(load, settings=AppSettings(grace_s=0.0, typing_s=0.0))
        async with app.run_test(size=(150, 45)) as pilot:
            here = Stage(app, pilot, None)
            await here.until(lambda: app.link is not None)
            try:
                assert cores[0].servers is not None
                await cores[0].servers.settled()
                yield World(here, cores[0], server, project, home, tmp_path / "elsewhere" / "out.txt")
                await here.until(lambda: not app.driver.busy)
            finally:
                await cores[0].aclose()


async def seen(here: Stage, screen: ApprovalScreen, call_id: str) -> None:
    await here.until(lambda: screen.row is not None and screen.row.call_id == call_id and screen.row.read)


async def test_h68_mixed_calls_are_decided_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [
        message("All at once.", tools=calls(tmp_path / "elsewhere" / "out.txt")),
        message("I note it.", tools=[Tool("note", "write", {"file_path": "note.txt", "content": "noted\n"})]),
        message("Noted."),
        message("That is all."),
    ]
    (tmp_path / "elsewhere").mkdir()
    async with program(tmp_path, monkeypatch, script) as world:
        here = world.stage
        await here.send("do it all")
        await here.until(lambda: isinstance(here.app.screen, ApprovalScreen))
        screen = await here.approval()
        listed = [(row.call_id, row.is_settled, row.state) for row in screen.round.listed()]
        await here.press("y")
        await seen(here, screen, "low")
        await here.press("a")
        await seen(here, screen, "high")
        await here.press("c")
        await here.type("never force")
        await here.press("enter", "n")
        await seen(here, screen, "second")
        await here.press("c")
        await here.type("and test it")
        await here.press("enter", "y", "y")
        await seen(here, screen, "net")
        await here.press("n")
        await here.until(lambda: screen.row is not None and screen.row.call_id == "mcp")
        await here.settle()
        assert "tiny says of it, unchanged since you first saw it:" in here.picture()
        assert "Says it again." in here.picture()
        await here.press("p", "enter", "enter")
        assert screen.note.startswith("All decided.")
        assert not (world.project / "made.txt").exists()
        await here.press("enter")
        await here.until(lambda: here.app.screen not in (screen, here.app.screen_stack[0]))
        inner = await here.approval()
        assert inner.row is not None
        origin = (inner.row.request.tool, inner.row.request.origin)
        await here.press("y")
        await here.until(lambda: not here.app.driver.busy)
        lines = [text for kind, text in here.shown if kind == "decision"]

    assert listed == [
        ("read", True, "allowed"),
        ("ruled", True, "denied"),
        *((call_id, False, "open") for call_id in ASKED),
        ("agent", True, "allowed"),
    ]
    assert origin == ("write", "general: note it")
    assert (world.project / "src/petals.py").read_text() == SOURCE.replace('"hello"', '"good day"').replace(
        "len(flower)", "len(flower.petals)"
    )
    assert (world.project / "made.txt").exists()
    assert world.outside.read_text() == "x\n"
    assert (world.project / "note.txt").read_text() == "noted\n"

    told = world.results()
    assert list(told) == ["read", "ruled", *ASKED, "agent"]
    failed = [call_id for call_id, (is_error, _) in told.items() if is_error]
    assert failed == ["ruled", "high", "net"]
    assert "deny Bash(rm *)" in told["ruled"][1]
    assert "The user says: never force" in told["high"][1]
    assert "The user allowed this call and says: and test it" in told["second"][1]
    assert "Denied by the user" in told["net"][1]
    assert "hi" in told["mcp"][1]

    [grant] = world.lines("grants.jsonl")
    assert (grant["pattern"], grant["scope"], grant["decision"]) == ("mcp__tiny__echo", "project", "allow")

    audit = world.lines("audit.jsonl")
    facts = [(line["tool"], line["who"], line["decision"], line["scope"]) for line in audit]
    assert ("bash", "rule", "deny", "once") in facts
    assert ("bash", "person", "allow", "session") in facts
    assert ("mcp__tiny__echo", "person", "allow", "project") in facts
    assert facts[-1] == ("write", "person", "allow", "once")
    assert audit[-1]["origin"] == "general: note it"
    words = dict.fromkeys(line["feedback"] for line in audit if line["feedback"])
    assert list(words) == ["never force", "and test it"]
    assert all(line["args_sha256"] for line in audit if line["who"] == "person")

    assert [line for line in lines if "out.txt" not in line and "elsewhere" not in line][:4] == [
        "allowed once Edit: src/petals.py",
        "allowed for this session (Bash(touch *)): Bash: touch made.txt",
        "denied Bash: git push --force “never force”",
        "allowed once Edit: src/petals.py “and test it”",
    ]
    assert lines[-2:] == [
        "allowed for this project (mcp__tiny__echo): tiny: echo: text=hi",
        "allowed once Write: note.txt",
    ]


async def test_h65_when_all_is_denied_the_model_is_called_again_with_every_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [message("All.", tools=calls(tmp_path / "out.txt")[2:-1]), message("Then not.")]
    async with program(tmp_path, monkeypatch, script) as world:
        here = world.stage
        await here.send("do it all")
        await here.until(lambda: isinstance(here.app.screen, ApprovalScreen))
        await here.press("x", "enter")
        await here.until(lambda: not here.app.driver.busy)
        assert ("assistant", "Then not.") in here.shown

    assert len(world.server.requests) == 2
    told = world.results()
    assert all(is_error for is_error, _ in told.values())
    assert set(told) == {*ASKED}


STEMS = "old\n" + "-\n" * 12 + "old\n"


def other_calls(outside: Path) -> list[Tool]:
    old, new = "old", "new"
    stems = {"file_path": "src/stems.py", "old_string": old, "new_string": new, "replace_all": True}
    return [
        Tool("read", "read", {"file_path": "src/petals.py"}),
        Tool("read2", "read", {"file_path": "src/stems.py"}),
        Tool("ruled", "bash", {"command": "rm -rf src"}),
        edit("first", '"hello"', '"good day"'),
        Tool("low", "bash", {"command": "touch made.txt"}),
        Tool("high", "bash", {"command": "git push --force"}),
        edit("second", "len(flower)", "len(flower.petals)"),
        Tool("hunks", "edit", stems),
        Tool("outside", "write", {"file_path": str(outside), "content": "x\n"}),
        Tool("net", "bash", {"command": "curl https://docs.example.com/petals"}),
        Tool("mcp", "mcp__tiny__echo", {"text": "hi"}),
        Tool("agent", "task", {"description": "note it", "prompt": "Write the note.", "agent": "general"}),
    ]


async def go_to(here: Stage, screen: ApprovalScreen, call_id: str) -> None:
    """Move to a call and look at all of it."""
    await here.press("home")
    for _ in screen.round.listed():
        if screen.row is not None and screen.row.call_id == call_id:
            break
        await here.press("down")
    await seen(here, screen, call_id)


def states(screen: ApprovalScreen) -> dict[str, str]:
    return {row.call_id: row.state for row in screen.round.rows}


async def test_h68_every_other_deciding_key_meets_the_real_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "elsewhere" / "out.txt"
    outside.parent.mkdir()
    script = [
        message("All at once.", tools=other_calls(outside)),
        message("I note it.", tools=[Tool("note", "write", {"file_path": "note.txt", "content": "noted\n"})]),
        message("Noted."),
        message("That is all."),
        message("Again.", tools=[Tool("mcp2", "mcp__tiny__echo", {"text": "hi"})]),
        message("Denied."),
    ]
    async with program(tmp_path, monkeypatch, script) as world:
        here = world.stage
        (world.project / "src/stems.py").write_text(STEMS)
        await here.send("do it all")
        await here.until(lambda: isinstance(here.app.screen, ApprovalScreen))
        screen = await here.approval()

        await go_to(here, screen, "low")
        await here.press("e", "ctrl+u")
        await here.type("touch edited.txt")
        await here.press("enter")
        await go_to(here, screen, "high")
        await here.press("space")
        toggled = states(screen)["high"]
        await go_to(here, screen, "high")
        await here.press("space")
        await go_to(here, screen, "hunks")
        await here.press("h", "down", "space", "enter")
        await go_to(here, screen, "outside")
        await here.press("p", "tab", "tab", "enter", "enter")
        await go_to(here, screen, "mcp")
        await here.press("N", "enter", "enter")
        await here.press("g", "g")
        assert screen.note == "Grouped by tool."
        await here.press("g", "g", "g")
        await here.press("home", "tab")
        for _ in screen.round.groups():
            if screen.group is not None and "net" in screen.group.calls:
                break
            await here.press("down")
        await here.press("n", "escape", "A")
        decided = states(screen)
        await here.press("escape")
        assert here.app.banner.display
        await here.press("enter")
        raised = await here.approval()
        kept = states(raised)
        await here.press("enter")
        await here.until(lambda: here.app.screen not in (raised, here.app.screen_stack[0]))
        inner = await here.approval()
        assert inner.row is not None
        origin = (inner.row.request.tool, inner.row.request.origin)
        await here.press("Y")
        await here.until(lambda: not here.app.driver.busy)
        told = world.results()
        lines = [text for kind, text in here.shown if kind == "decision"]
        await here.send("once more")
        await here.until(lambda: not here.app.driver.busy)
        again = world.results()

    assert toggled == "allowed"
    assert decided == {
        **dict.fromkeys(("first", "low", "second", "hunks", "outside"), "allowed"),
        **dict.fromkeys(("high", "net", "mcp"), "denied"),
    }
    assert kept == decided
    assert origin == ("write", "general: note it")

    ran = world.ran()
    assert sorted(ran[:2]) == ["read", "read2"]  # they overlap
    assert ran[2:] == ["first", "low", "second", "hunks", "outside", "agent"]
    assert (world.project / "src/petals.py").read_text() == SOURCE.replace('"hello"', '"good day"').replace(
        "len(flower)", "len(flower.petals)"
    )
    assert (world.project / "src/stems.py").read_text() == STEMS.replace("old", "new", 1)
    assert (world.project / "edited.txt").exists()
    assert not (world.project / "made.txt").exists()
    assert outside.read_text() == "x\n"
    assert (world.project / "note.txt").read_text() == "noted\n"

    assert list(told) == [tool.id for tool in other_calls(outside)]
    failed = [call_id for call_id, (is_error, _) in told.items() if is_error]
    assert failed == ["ruled", "high", "net", "mcp"]
    assert "The user changed the arguments of this call" in told["low"][1]
    assert "touch edited.txt" in told["low"][1]
    assert "accepted hunk 1 of 2; left out: 2." in told["hunks"][1]
    assert "deny mcp__tiny__echo" in again["mcp2"][1]

    [grant] = world.lines("grants.jsonl")
    assert (grant["pattern"], grant["scope"], grant["decision"]) == ("mcp__tiny__echo", "project", "deny")

    audit = world.lines("audit.jsonl")
    said = {
        line["call_id"]: (line["who"], line["decision"], line["scope"]) for line in audit if line["call_id"]
    }
    by_key = {
        "first": ("person", "allow", "session"),
        "low": ("person", "allow", "once"),
        "high": ("person", "deny", "once"),
        "hunks": ("person", "allow", "once"),
        "outside": ("person", "allow", "session"),
        "net": ("person", "deny", "once"),
        "mcp": ("person", "deny", "project"),
        "note": ("person", "allow", "once"),
    }
    assert {call_id: said[call_id] for call_id in by_key} == by_key
    assert said["second"][1] == "allow"
    edited = {line["call_id"]: line["args_sha256"] for line in audit if line["edited"]}
    assert edited == {"low": hashlib.sha256(b'{"command": "touch edited.txt"}').hexdigest()}
    ruled = [
        (line["tool"], line["decision"]) for line in audit if line["who"] == "rule" and not line["call_id"]
    ]
    assert ruled == [("bash", "deny"), ("task", "allow"), ("mcp__tiny__echo", "deny")]

    assert "allowed once Bash: touch made.txt (edited)" in lines
    assert "allowed once Edit: src/stems.py (1 hunks)" in lines
    assert "denied for this project (mcp__tiny__echo): tiny: echo: text=hi" in lines


async def test_h68_a_second_escape_denies_all_that_was_asked_and_what_was_allowed_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = calls(tmp_path / "out.txt")
    script = [message("All at once.", tools=asked), message("Then not.")]
    async with program(tmp_path, monkeypatch, script) as world:
        here = world.stage
        await here.send("do it all")
        await here.until(lambda: isinstance(here.app.screen, ApprovalScreen))
        screen = await here.approval()
        await here.press("y")
        await seen(here, screen, "low")
        await here.press("a")
        await seen(here, screen, "high")
        allowed = [call_id for call_id, state in states(screen).items() if state == "allowed"]
        await here.press("escape")
        lowered = here.app.banner.display and not here.app.in_dialog
        await here.press("escape")
        await here.until(lambda: not here.app.driver.busy)
        requests = len(world.server.requests)
        assert not here.app.in_dialog
        assert not here.app.banner.display
        await here.send("go on")
        await here.until(lambda: not here.app.driver.busy)
        messages = json.dumps(world.server.requests[-1].json["messages"])

    assert allowed == ["first", "low"]
    assert lowered
    assert requests == 1
    assert world.ran() == []
    assert (world.project / "src/petals.py").read_text() == SOURCE
    assert not (world.project / "made.txt").exists()
    assert all(f'"tool_use_id": "{tool.id}"' in messages for tool in asked)
    assert not list(world.home.rglob("grants.jsonl"))
    answers = {
        (line["call_id"], line["decision"], line["scope"])
        for line in world.lines("audit.jsonl")
        if line["call_id"]
    }
    assert answers == {(call_id, "deny", "once") for call_id in ASKED}

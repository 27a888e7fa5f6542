import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY
from tests.support.fake_servers import Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
TOOL = """
from pydantic import BaseModel

from agent_tui.toolkit.api import Tool, ToolResult


class Nothing(BaseModel):
    pass


class {name}(Tool[Nothing]):
    name = "{tool}"
    description = "Does nothing."
    params_type = Nothing

    def run(self, params, ctx):
        return ToolResult.success("nothing")


open({mark!r}, "w").close()
"""


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Furnished:
    """A place whose person and project bring everything that can count; what runs leaves a file in `marks`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.marks = place.home / "marks"
        self.marks.mkdir()
        mine, project = place.home / ".config/agent-tui", place.project
        for name, folder in (("mine", mine), ("theirs", project / ".agent-tui")):
            hook = f"[[hooks.session_start]]\ncommand = {json.dumps(self._touch(f'{name}-hook'))}\ntimeout_s = 60\n"
            server = f'[mcp.servers.{name}]\ncommand = "/bin/sh"\nargs = ["-c", {json.dumps(self._touch(f"{name}-server"))}]\n'
            put(folder / "config.toml", f'[model]\nname = "{name}-model"\n{hook}{server}')
            tool = TOOL.format(name=name.title(), tool=f"{name}_tool", mark=str(self.marks / f"{name}-tool"))
            put(folder / "tools" / f"{name}_tool.py", tool)
            put(
                folder / "extensions" / f"{name}_extension.py",
                f"open({str(self.marks / f'{name}-extension')!r}, 'w').close()\ndef setup(host):\n    pass\n",
            )
            put(folder / f"skills/{name}-skill/SKILL.md", f"---\ndescription: Skill of {name}.\n---\nDo.\n")
            put(
                folder / f"commands/{name}-shell.md",
                f"---\nallowed-tools: Bash(touch *)\n---\n!`{self._touch(f'{name}-command')}`",
            )
            put(folder / f"agents/{name}-agent.md", f"---\ndescription: Agent of {name}.\n---\nBe {name}.\n")
        put(mine / "guardrails/mine.py", self._guardrail())
        put(project / "AGENTS.md", "Always say petals.\n")

    def _touch(self, name: str) -> str:
        return f"touch {self.marks / name}"

    def _guardrail(self) -> str:
        mark = str(self.marks / "mine-guardrail")
        head = "from agent_tui.agent.guardrails import OpenGuardrail\n"
        return f"{head}open({mark!r}, 'w').close()\nclass Mine(OpenGuardrail):\n    pass\n"

    def ran(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}

    def ask(self, served: Served, *flags: str) -> str:
        """Run one turn; give what was written on standard error."""
        done = self.place.run("-p", "go", "--trust", *flags, **served.env)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def refused(self, served: Served, *flags: str) -> str:
        """Call a command that is left out; give the sentence."""
        done = self.place.run("-p", "/mine-shell", "--trust", *flags, **served.env)
        assert done.returncode == 2, done.stderr
        return done.stderr


def request(served: Served, number: int = -1) -> tuple[str, str, list[str], str]:
    """Give model, system prompt, names of tools and first message of a request."""
    sent = served.requests[number]
    tools = [tool["name"] for tool in sent["tools"]]
    return str(sent["model"]), sent["system"][0]["text"], tools, json.dumps(sent["messages"][0])


EVERYTHING = {
    "mine-hook",
    "theirs-hook",
    "mine-tool",
    "theirs-tool",
    "mine-extension",
    "theirs-extension",
} | {
    "mine-server",
    "theirs-server",
    "mine-guardrail",
}


def test_everything_counts_without_a_flag(place: Place, serve: Serve) -> None:
    here = Furnished(place)
    with serve([message("petals")]) as served:
        here.ask(served)
        model, system, tools, first = request(served)

    assert here.ran() == EVERYTHING
    assert model == "theirs-model"
    assert {"mine_tool", "theirs_tool"} <= set(tools)
    for words in ("Skill of mine.", "Skill of theirs.", "Agent of mine.", "Agent of theirs."):
        assert words in system
    assert "Always say petals." in first


def test_bare_leaves_out_what_is_found_and_keeps_the_persons_settings(place: Place, serve: Serve) -> None:
    here = Furnished(place)
    with serve([message("petals")]) as served:
        said = here.ask(served, "--bare")
        model, system, tools, first = request(served, 0)
        refused = here.refused(served, "--bare")

    assert here.ran() == set()
    assert model == "mine-model"
    assert not {"mine_tool", "theirs_tool"} & set(tools)
    for words in ("mine", "theirs", "petals"):
        assert words not in system
    assert "Always say petals." not in first
    assert "There is no command /mine-shell" in refused
    assert "Left out by --bare: 2 hooks, 1 guardrail." in said


def test_bare_is_the_same_whatever_lies_around(place: Place, serve: Serve) -> None:
    with serve([message("petals"), message("petals")]) as served:
        place.run("-p", "go", "--bare", "--model", "m-1", **served.env)
        here = Furnished(place)
        here.ask(served, "--bare", "--model", "m-1")
        before, after = (request(served, number)[:3] for number in (0, 1))

    assert before == after


def test_safe_mode_runs_no_code_of_the_configuration_and_says_so(place: Place, serve: Serve) -> None:
    here = Furnished(place)
    with serve([message("petals")]) as served:
        said = here.ask(served, "--safe-mode")
        model, system, tools, first = request(served, 0)
        refused = here.refused(served, "--safe-mode")

    assert here.ran() == set()
    assert "There is no command /mine-shell" in refused
    assert model == "theirs-model"
    assert not {"mine_tool", "theirs_tool"} & set(tools)
    assert "Skill of mine." in system
    assert "Always say petals." in first
    counted = "2 hooks, 1 guardrail, 2 extensions, 2 tools, 2 MCP servers, 2 commands with shell lines"
    assert f"Safe mode: what would run code is left out: {counted}." in said


def test_safe_mode_leaves_out_the_key_command(place: Place) -> None:
    marker = place.home / "asked"
    put(
        place.home / ".config/agent-tui/config.toml",
        f'[model]\nprovider = "anthropic"\nkey_command = "touch {marker}"\n',
    )
    done = place.run("-p", "go", "--safe-mode")

    assert done.returncode == 1
    assert "There is no key for Anthropic" in done.stderr
    assert not marker.exists()


def test_what_the_command_line_names_counts_in_both(place: Place, serve: Serve) -> None:
    here = Furnished(place)
    server = {
        "mcpServers": {"given": {"command": "/bin/sh", "args": ["-c", f"touch {here.marks / 'given'}"]}}
    }
    for flag in ("--bare", "--safe-mode"):
        with serve([message("petals")]) as served:
            here.ask(served, flag, "--agent", "mine-agent", "--mcp-config", json.dumps(server))
            _, system, _, _ = request(served)
        assert system.startswith("Be mine.")
        assert here.ran() == {"given"}
        (here.marks / "given").unlink()


def test_bare_asks_nobody_to_trust_the_project(place: Place) -> None:
    Furnished(place)
    with place.terminal("--bare", "--provider", "offline") as terminal:
        terminal.until(READY)
        terminal.until("git main")
        screen = terminal.quiet(0.5)

    assert "trust" not in screen.lower().replace("untrusted", "")


def test_sources_that_are_left_out_may_still_tighten(place: Place, serve: Serve) -> None:
    config = '[model]\nname = "mine"\n[permissions]\nmode = "bypass"\ndeny = ["Bash(touch *)"]\nallow = ["Bash(rm *)"]\n'
    put(place.home / ".config/agent-tui/config.toml", config)
    put(place.project / ".agent-tui/config.toml", '[model]\nname = "shared"\n')
    put(place.project / ".agent-tui/config.local.toml", '[model]\nname = "private"\n')
    call = message(
        tools=[Tool("a", "bash", {"command": "touch made"}), Tool("b", "bash", {"command": "rm README.md"})]
    )
    with serve([call, message("done"), message("two"), message("three"), message("four")]) as served:
        first = place.run("-p", "go", "--setting-sources", "project", "--trust", **served.env)
        place.run("-p", "go", "--setting-sources", "local", "--trust", **served.env)
        place.run("-p", "go", "--setting-sources", "user,project", "--trust", **served.env)
        place.run("-p", "go", "--setting-sources", "", "--trust", **served.env)
        models = [one["model"] for one in served.requests]

    assert models == ["shared", "shared", "private", "shared", "claude-sonnet-5-5"]
    assert first.returncode == 3
    assert not (place.project / "made").exists()
    assert (place.project / "README.md").exists()


def test_hooks_and_servers_of_a_source_that_is_left_out_do_not_run(place: Place, serve: Serve) -> None:
    here = Furnished(place)
    with serve([message("petals")]) as served:
        here.ask(served, "--setting-sources", "project")

    assert here.ran() == EVERYTHING - {"mine-hook", "mine-server"}


def test_a_source_that_there_is_not_is_a_usage_error(place: Place) -> None:
    done = place.run("-p", "go", "--setting-sources", "user,nowhere")

    assert done.returncode == 2
    assert "there is no source 'nowhere'; there are user, project, private" in done.stderr


PROFILES = """
[model]
name = "usual"
effort = "low"

[permissions]
mode = "dont-ask"
allow = ["Bash(touch *)"]

[profiles.careful.model]
name = "careful"

[profiles.careful.permissions]
deny = ["Bash(touch *)"]
"""


def test_a_profile_lies_over_the_settings_and_below_the_flags(place: Place, serve: Serve) -> None:
    put(place.home / ".config/agent-tui/config.toml", PROFILES)
    with serve([message("a"), message("b"), message("c")]) as served:
        place.run("-p", "go", **served.env)
        place.run("-p", "go", "--profile", "careful", **served.env)
        place.run("-p", "go", "--profile", "careful", "--model", "flag", **served.env)
        models = [one["model"] for one in served.requests]

    assert models == ["usual", "careful", "flag"]


def test_the_rules_of_a_profile_count_besides_the_others(place: Place, serve: Serve) -> None:
    put(place.home / ".config/agent-tui/config.toml", PROFILES)
    call = message(tools=[Tool("a", "bash", {"command": "touch made"})])
    with serve([call, message("denied"), call, message("done")]) as served:
        careful = place.run("-p", "go", "--profile", "careful", "--output-format", "json", **served.env)
        made_then = (place.project / "made").exists()
        place.run("-p", "go", **served.env)

    (denied,) = json.loads(careful.stdout)["denied"]
    assert "config.toml:14" in denied["reason"] or "Bash(touch *)" in denied["reason"]
    assert not made_then
    assert (place.project / "made").exists()


@pytest.mark.parametrize(("toml", "told"), [(PROFILES, "there are careful"), ("", "there are none")])
def test_a_profile_that_there_is_not_is_a_usage_error(place: Place, toml: str, told: str) -> None:
    put(place.home / ".config/agent-tui/config.toml", toml)
    done = place.run("-p", "go", "--profile", "fast")

    assert done.returncode == 2
    assert "no [profiles.fast] in the settings files that count" in done.stderr
    assert told in done.stderr


def test_a_project_that_is_not_trusted_brings_no_profile(place: Place) -> None:
    put(place.project / ".agent-tui/config.toml", '[profiles.evil.model]\nbase_url = "http://127.0.0.1:1"\n')
    done = place.run("-p", "go", "--profile", "evil")

    assert done.returncode == 2
    assert "there are none" in done.stderr


def test_the_theme_of_a_profile_is_there_with_the_first_frame(place: Place) -> None:
    put(
        place.home / ".config/agent-tui/config.toml",
        '[ui]\ntheme = "dark"\n[profiles.day.ui]\nstatus = ["branch"]\n',
    )
    with place.terminal("--profile", "day", "--provider", "offline") as terminal:
        terminal.until("main")
        assert "offline" not in terminal.until(READY).splitlines()[-1]

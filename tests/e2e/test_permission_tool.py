import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import Place, Served
from tests.support.fake_servers import Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
SERVER = Path(__file__).parents[1] / "support/mcp_servers/approver.py"
NAME = "mcp__gate__decide"


class Gate:
    """A run whose approvals are answered by a tool."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.file = place.home / "asked.jsonl"
        server = {"command": sys.executable, "args": [str(SERVER), str(self.file)]}
        self.flags = (
            "--mcp-config",
            json.dumps({"mcpServers": {"gate": server}}),
            "--permission-prompt-tool",
        )

    def asked(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]


def bash(*commands: str) -> list[Tool]:
    return [Tool(f"c{number}", "bash", {"command": command}) for number, command in enumerate(commands)]


def test_a_tool_answers_each_call_by_itself(place: Place, serve: Serve) -> None:
    gate = Gate(place)
    calls = message(tools=bash("touch good", "touch bad", "touch other"))
    with serve([calls, message("done")]) as served:
        done = place.run("-p", "go", *gate.flags, NAME, "--output-format", "json", **served.env)
        results = json.dumps(served.requests[1]["messages"][-1])
        offered = [tool["name"] for tool in served.requests[0]["tools"]]

    assert done.returncode == 0, done.stderr
    assert [one["input"]["command"] for one in gate.asked()] == ["touch good", "touch bad", "touch other"]
    assert {one["tool_name"] for one in gate.asked()} == {"bash"}
    made = {path.name for path in place.project.iterdir()}
    assert {"good", "changed"} <= made
    assert not {"bad", "other"} & made
    assert "Not on Fridays." in results
    assert "mcp__gate__look" in offered
    assert NAME not in offered


@pytest.mark.parametrize(
    ("command", "told"), [("touch break", "is not valid JSON"), ("touch fail", "out of order")]
)
def test_a_tool_that_fails_is_a_no(place: Place, serve: Serve, command: str, told: str) -> None:
    gate = Gate(place)
    with serve([message(tools=bash(command, "touch good")), message("done")]) as served:
        done = place.run("-p", "go", *gate.flags, NAME, **served.env)

    assert done.returncode == 3
    assert f"{NAME} gave no usable answer" in done.stderr
    assert told in done.stderr
    assert not (place.project / command.split()[1]).exists()
    assert (place.project / "good").exists()


def test_deny_rules_hold_whatever_the_tool_would_say(place: Place, serve: Serve) -> None:
    gate = Gate(place)
    with serve([message(tools=bash("touch good")), message("done")]) as served:
        place.run("-p", "go", *gate.flags, NAME, "--disallowed-tools", "Bash(touch *)", **served.env)

    assert not (place.project / "good").exists()
    assert not gate.file.exists()


def test_a_tool_that_there_is_not_is_a_usage_error(place: Place, serve: Serve) -> None:
    gate = Gate(place)
    with serve([]) as served:
        none = place.run("-p", "go", "--permission-prompt-tool", NAME, **served.env)
        other = place.run("-p", "go", *gate.flags, "mcp__gate__nothing", **served.env)
        screen = place.run("--permission-prompt-tool", NAME, **served.env)
        both = place.run("-p", "go", *gate.flags, NAME, "--permission-command", "true", **served.env)
        asked = served.requests

    assert [run.returncode for run in (none, other, screen, both)] == [2, 2, 2, 2]
    assert "no server offers a tool" in none.stderr
    assert "there is no 'mcp__gate__nothing'; did you mean " in other.stderr
    assert "--permission-prompt-tool needs -p" in screen.stderr
    assert "choose one of --permission-command and --permission-prompt-tool" in both.stderr
    assert asked == []

import json
import sys
from pathlib import Path

from tests.e2e.conftest import Place
from tests.support.mcp_world import SCRIPTS

SERVER = {"command": sys.executable, "args": ["-S", str(SCRIPTS / "tiny.py"), "good"]}
CALL = 'call mcp__tiny__echo {"text": "hello"}'


def events(place: Place, *words: str) -> list[dict[str, object]]:
    done = place.run("-p", "--provider", "offline", "--output-format", "stream-json", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


def finished(found: list[dict[str, object]]) -> list[str]:
    return [json.dumps(event) for event in found if event["type"] in ("tool_finished", "tool_denied")]


def test_a_servers_tool_runs_in_a_run_without_a_screen_when_it_is_allowed(place: Place) -> None:
    given = json.dumps({"mcpServers": {"tiny": SERVER}})

    (said,) = finished(events(place, "--mcp-config", given, "--allowed-tools", "mcp__tiny__echo", CALL))

    assert "echo: hello" in said


def test_without_a_rule_a_servers_tool_is_denied_when_nobody_can_be_asked(place: Place) -> None:
    found = events(place, "--mcp-config", json.dumps({"mcpServers": {"tiny": SERVER}}), CALL)

    assert "mcp__tiny__echo" in found[0]["tools"]
    assert not [said for said in finished(found) if "echo: hello" in said]


def test_h_p1_servers_of_a_project_wait_until_it_is_trusted(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    server = {
        "command": "sh",
        "args": ["-c", f'touch {mark}; exec "{sys.executable}" -S {SCRIPTS / "tiny.py"} good'],
    }
    (place.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"tiny": server}}))

    first = events(place, CALL)

    assert not mark.exists()
    assert "mcp__tiny__echo" not in first[0]["tools"]

    second = events(place, "--trust", CALL)

    assert mark.exists()
    assert "mcp__tiny__echo" in second[0]["tools"]


def test_broken_servers_are_one_line_each_and_the_run_goes_on(place: Place) -> None:
    ends = {"command": "sh", "args": ["-c", "echo no module >&2; exit 3"]}
    given = json.dumps({"mcpServers": {"broken": {"command": "/no/such"}, "ends": ends}})

    done = place.run("-p", "--provider", "offline", "--mcp-config", given, "hello")

    assert done.returncode == 0
    assert done.stderr.count("'broken' is not available: there is no program '/no/such'") == 1
    assert done.stderr.count("'ends' is not available: exited with code 3 (no module)") == 1

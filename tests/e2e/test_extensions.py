import json
import os
import re
from pathlib import Path
from textwrap import dedent

from tests.e2e.conftest import Place
from tests.e2e.test_house import Serve, offered
from tests.e2e.test_offline import READY
from tests.support.fake_servers import message
from tests.support.patience import until_now
from tests.support.plug_world import write_extension, write_program

TOOL = """
    def extend(agent):
        agent.register_tool("shout", "Say it loudly.", None, lambda arguments, ctx: "HELLO")
        agent.on("tool_finished", lambda event, ctx: ctx.notify("info", f"saw {event['tool']}"))
"""
PROGRAM = """
hear()
tool("number")
say(type="ready")
while (message := hear())["type"] != "shutdown":
    if message["type"] == "call":
        say(type="result", id=message["id"], content="the number is 7")
"""


def mine(place: Place) -> Path:
    return place.home / ".config" / "agent-tui" / "extensions"


def events(place: Place, *words: str) -> list[dict[str, object]]:
    done = place.run("-p", "--provider", "offline", "--output-format", "stream-json", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


def finished(found: list[dict[str, object]]) -> str:
    return "\n".join(
        json.dumps(event) for event in found if event["type"] in ("tool_finished", "tool_denied")
    )


def test_tools_of_both_kinds_run_in_a_run_without_a_screen_when_they_are_allowed(place: Place) -> None:
    write_extension(mine(place), "loud", TOOL)
    write_program(mine(place), "count", PROGRAM)

    found = events(place, "--allowed-tools", "shout, number", "call shout {}\ncall number {}")

    assert "HELLO" in finished(found)
    assert "the number is 7" in finished(found)
    assert any(event["type"] == "notice" and event["text"] == "loud: saw shout" for event in found)


def test_without_a_rule_they_are_denied_when_nobody_can_be_asked(place: Place) -> None:
    write_extension(mine(place), "loud", TOOL)

    found = events(place, "call shout {}")

    assert "shout" in found[0]["tools"]
    assert "HELLO" not in finished(found)


def test_x16_a_projects_extensions_wait_until_it_is_trusted_and_the_switch_turns_all_off(
    place: Place, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    write_extension(
        place.project / ".agent-tui" / "extensions", "loud", f"open({str(mark)!r}, 'w')\n" + dedent(TOOL)
    )

    events(place, "hello")
    assert not mark.exists()

    assert "shout" in events(place, "--trust", "hello")[0]["tools"]
    assert mark.exists()
    off = place.run(
        "-p",
        "--provider",
        "offline",
        "--output-format",
        "stream-json",
        "--trust",
        "hello",
        AGENT_TUI_EXTENSIONS="off",
    )
    assert '"read"' in off.stdout.splitlines()[0]
    assert '"shout"' not in off.stdout.splitlines()[0]


def test_a_broken_extension_is_one_line_and_doctor_names_it_with_its_file(place: Place) -> None:
    write_extension(mine(place), "odd", "def extend(agent)\n")
    write_program(mine(place), "count", PROGRAM)

    done = place.run("-p", "--provider", "offline", "hello")
    report = place.run("doctor", "--json")

    assert done.returncode == 0
    assert done.stderr.count("The extension 'odd' is left out") == 1
    checks = {check["name"]: check for check in json.loads(report.stdout)}
    assert checks["extension odd"]["ok"] is False
    assert str(mine(place) / "odd.py") in checks["extension odd"]["text"]
    assert "line 1" in checks["extension odd"]["text"]
    assert checks["extension count"]["ok"] is True
    assert "number" in checks["extension count"]["text"]


def test_one_tool_of_an_extension_runs_from_a_shell(place: Place) -> None:
    write_extension(mine(place), "loud", TOOL)
    write_program(mine(place), "count", PROGRAM)

    assert '"the number is 7"' in place.run("tool", "number", "--json", "{}", "--yes").stdout
    assert "shout" in place.run("tool", "--list").stdout


SHIP = """
hear()
say(type="register_command", name="ship", description="Ships it", needs_args=True)
say(type="ready")
sleeper = subprocess.Popen(["sleep", "600"])
while (message := hear())["type"] != "shutdown":
    if message["type"] == "command":
        say(type="confirm", id=1, title="Ship", message=f"Ship {message['args']}?", yes="Ship it", no="Wait")
        ok = hear()["ok"]
        say(type="set_status", text=f"shipped {message['args']}" if ok else "waits")
        say(type="notify", text=f"pids {os.getpid()} {sleeper.pid}")
        say(type="result", id=message["id"])
"""


def test_a_program_asks_on_the_screen_and_nothing_of_it_is_left_after_quitting(place: Place) -> None:
    write_program(mine(place), "harbour", SHIP)

    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("/shi")
        terminal.until("Ships it (extension harbour)")
        terminal.send("\t")
        terminal.send("v2\r")
        terminal.until("Ship v2?")
        terminal.send("y")
        terminal.until("shipped v2")
        said = terminal.until("pids ")
        found = re.search(r"pids (\d+) (\d+)", said)
        assert found is not None
        pids = [int(word) for word in found.groups()]
        assert all(map(alive, pids))
        terminal.send("\x04\x04")
        terminal.wait()

    until_now(lambda: not any(map(alive, pids)))


def test_a_projects_extension_joins_when_the_person_trusts_it_and_goes_when_they_do_not(
    place: Place, serve: Serve
) -> None:
    write_extension(place.project / ".agent-tui" / "extensions", "loud", TOOL)
    with (
        serve([message("One."), message("Two."), message("Three.")]) as served,
        place.terminal(**served.env) as terminal,
    ):
        terminal.until("loud.py")
        terminal.send("\r")
        terminal.until("is left out")
        terminal.send("first\r")
        terminal.until("One.")
        assert "shout" not in offered(served.requests[-1])
        terminal.send("/trust\r")
        terminal.until("Trust this project?")
        terminal.send("\x1b[B\r")
        terminal.until("is trusted as it is now")
        terminal.send("second\r")
        terminal.until("Two.")
        assert "shout" in offered(served.requests[-1])
        terminal.send("/trust revoke\r")
        terminal.until("is not trusted any more")
        terminal.send("third\r")
        terminal.until("Three.")
        assert "shout" not in offered(served.requests[-1])
    assert list((place.project / ".agent-tui").rglob("__pycache__")) == []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

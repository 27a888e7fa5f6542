import json
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY
from tests.support.fake_servers import Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
KEY = "sk-test-of-the-keys-1234567890"


def test_cf_06_the_key_reaches_neither_commands_nor_the_model(place: Place, serve: Serve) -> None:
    (place.project / "notes.txt").write_text(f"the key is {KEY}, do not tell\n")
    calls = [
        Tool("a", "bash", {"command": "env | sort"}),
        Tool("b", "bash", {"command": "cat /proc/$PPID/environ | tr '\\0' '\\n' | grep -c sk-test; true"}),
        Tool("c", "read", {"file_path": "notes.txt"}),
    ]
    with serve([message(tools=calls), message("done")]) as served:
        env = {**served.env, "ANTHROPIC_API_KEY": KEY}
        done = place.run("-p", "go", "--yolo", **env)
        results = json.dumps(served.requests[1]["messages"])
        sent = [request.headers["authorization"] for request in served.server.requests]

    kept = "".join(path.read_text() for path in (place.home / ".local/share/agent-tui").rglob("*.jsonl"))
    assert done.returncode == 0, done.stderr
    assert sent == [f"Bearer {KEY}"] * 2
    assert KEY not in results + kept + done.stderr
    assert "ANTHROPIC_API_KEY" not in results
    assert "the key is [redacted], do not tell" in results


def test_cf_07_blanks_around_a_key_are_taken_off(place: Place, serve: Serve) -> None:
    with serve([message("fine")]) as served:
        done = place.run("-p", "go", **{**served.env, "ANTHROPIC_API_KEY": f" {KEY}\n"})
        sent = served.server.requests[0].headers["authorization"]

    assert (done.returncode, sent) == (0, f"Bearer {KEY}")


def test_cf_07_no_key_is_one_line_that_names_the_variable(place: Place) -> None:
    for key in ({}, {"ANTHROPIC_API_KEY": ""}, {"ANTHROPIC_API_KEY": " \n"}):
        done = place.run("-p", "go", "--provider", "anthropic", **key)

        assert done.returncode == 1
        assert "ANTHROPIC_API_KEY" in done.stderr.strip().splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_cf_07_a_screen_without_a_key_opens_and_another_model_can_be_chosen(place: Place) -> None:
    with place.terminal("--provider", "openai") as terminal:
        terminal.until("OPENAI_API_KEY")
        terminal.send("hello\r")
        terminal.until(lambda text: text.count("OPENAI_API_KEY") >= 2)
        terminal.send("/model offline\r")
        terminal.until("answers from now on")
        terminal.send("read README.md\r")
        terminal.until("Counts petals.")


def test_a_stored_key_connects_its_provider(place: Place, serve: Serve) -> None:
    stored = place.run("auth", "set", "anthropic", "--no-keyring", stdin=f"{KEY}\n")
    with serve([message("fine")]) as served:
        done = place.run("-p", "go", ANTHROPIC_BASE_URL=served.server.url)
        sent = served.server.requests[0].headers["authorization"]

    assert (stored.returncode, done.returncode, sent) == (0, 0, f"Bearer {KEY}")


def test_the_screen_shows_context_effort_and_an_aside(place: Place, serve: Serve) -> None:
    with serve([message("It counts."), message("Beside the point.")]) as served:
        with place.terminal(**served.env) as terminal:
            terminal.until(READY)
            terminal.send("what is this?\r")
            terminal.until("It counts.")
            terminal.send("/context\r")
            terminal.until("System prompt")
            terminal.until("tokens in the next request")
            terminal.send("/effort high\r")
            terminal.until("The effort is high")
            terminal.send("/btw and petals?\r")
            terminal.until("Beside the point.")
        requests = served.requests

    assert "high" in json.dumps(requests[1]["output_config"])
    assert requests[1]["system"] == requests[0]["system"]
    assert "and petals?" in json.dumps(requests[1]["messages"][-1])

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY
from tests.support.fake_servers import Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
READ = message(thinking="Petals first.", tools=[Tool("a", "read", {"file_path": "README.md"})])


def test_verbose_shows_thoughts_arguments_and_whole_results(place: Place, serve: Serve) -> None:
    with serve([READ, message("Done."), READ, message("Done.")]) as served:
        told = place.run("-p", "go", "--verbose", **served.env)
        usual = place.run("-p", "go", **served.env)

    assert told.stdout == usual.stdout == "Done.\n"
    assert "thinking: Petals first." in told.stderr
    assert re.search(r'arguments: .*"file_path": ?"README.md"', told.stderr)
    assert "Counts petals." in told.stderr
    assert "Petals first." not in usual.stderr
    assert "Counts petals." not in usual.stderr


def test_verbose_opens_the_panels_on_the_screen(place: Place, serve: Serve) -> None:
    with serve([READ, message("Done."), READ, message("Done.")]) as served:
        for flags, is_open in ((("--verbose",), True), ((), False)):
            with place.terminal(*flags, "go on", **served.env) as terminal:
                terminal.until("Done.")
                assert ("Counts petals." in terminal.quiet(0.5)) is is_open


def test_lines_say_whole_results_when_asked_to(place: Place, serve: Serve) -> None:
    (place.project / "long.txt").write_text("".join(f"petal {number}\n" for number in range(40)))
    call = message(thinking="Petals first.", tools=[Tool("a", "read", {"file_path": "long.txt"})])
    with (
        serve([call, message("Done.")]) as served,
        place.terminal("--screen-reader", "--verbose", "go on", **served.env) as terminal,
    ):
        terminal.until("Done in")
        said = bytes(terminal.raw).decode()

    assert "Petals first." in said
    assert "petal 39" in said


def log_of(place: Place) -> Path:
    return place.home / ".local/state/agent-tui/agent-tui.log"


def test_debug_writes_requests_events_and_hooks_without_the_key(place: Place, serve: Serve) -> None:
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[[hooks.user_prompt]]\ncommand = "true"\ntimeout_s = 60\n')
    with serve([message("It is sk-test-key.")]) as served:
        done = place.run("-p", "--debug", "say it", "--ephemeral", **served.env)

    text = log_of(place).read_text()
    assert done.returncode == 0, done.stderr
    assert log_of(place).stat().st_mode & 0o777 == 0o600
    for words in (
        "INFO start: agent-tui ",
        "request to anthropic:",
        "reply of anthropic:",
        '"type":"turn_started"',
    ):
        assert words in text
    assert "user_prompt: true" in text
    assert "sk-test-key" not in text
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z |    ", line) for line in text.splitlines())


@pytest.mark.parametrize(
    ("parts", "there", "not_there"),
    [
        ("providers", "request to", '"type"'),
        ("!providers", '"type"', "request to"),
        ("events", '"type"', "start:"),
    ],
)
def test_parts_limit_what_is_written(
    place: Place, serve: Serve, parts: str, there: str, not_there: str
) -> None:
    with serve([message("Done.")]) as served:
        place.run("-p", "go", f"--debug={parts}", "--debug-file", "own.log", **served.env)

    text = (place.project / "own.log").read_text()
    assert there in text
    assert not_there not in text
    assert not log_of(place).exists()


def test_without_the_flag_nothing_is_written(place: Place, serve: Serve) -> None:
    with serve([message("Done.")]) as served:
        place.run("-p", "go", **served.env)

    assert not log_of(place).exists()


def test_a_debug_file_that_cannot_be_written_is_a_usage_error(place: Place) -> None:
    done = place.run("-p", "go", "--debug-file", "README.md/x")

    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_without_the_alternate_screen_everything_stays_in_the_scrollback(place: Place) -> None:
    with place.terminal("--no-alt-screen", "--provider", "offline") as terminal:
        terminal.until("You:")
        terminal.send("explain this project\r")
        terminal.until("Done in")
        raw = bytes(terminal.raw)

    assert b"\x1b[?1049h" not in raw
    assert b"Counts petals" in raw
    assert READY.encode() not in raw

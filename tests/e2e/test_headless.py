import json
import shutil
import signal
import subprocess

import pytest

from tests.e2e.conftest import PROGRAM, Place
from tests.support.patience import RUN_S


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_stream_json_is_one_object_a_line_from_start_to_result(place: Place) -> None:
    done = place.run("-p", "explain this project", "--output-format", "stream-json")

    events = lines(done.stdout)
    assert done.returncode == 0, done.stderr
    assert events[0]["type"] == "session_started"
    assert events[-1]["type"] == "result"
    assert "Counts petals." in str(events[-1]["result"])
    kinds = [event["type"] for event in events]
    assert {"turn_started", "round_started", "tool_started", "tool_finished", "turn_finished"} <= set(kinds)
    assert "text_delta" not in kinds


def test_partial_messages_bring_the_deltas(place: Place) -> None:
    done = place.run("-p", "help", "--output-format", "stream-json", "--include-partial-messages")

    assert any(event["type"] == "text_delta" for event in lines(done.stdout))


def test_standard_output_holds_the_answer_alone(place: Place) -> None:
    done = place.run("-p", "read README.md")

    assert "Counts petals." in done.stdout
    assert "Read: README.md" in done.stderr
    assert "Read: README.md" not in done.stdout


def test_piped_text_is_part_of_the_prompt(place: Place) -> None:
    done = place.run("-p", stdin="read README.md")

    assert "Counts petals." in done.stdout


def test_call_that_nobody_can_allow_is_denied_with_exit_3(place: Place) -> None:
    done = place.run("-p", "create new.txt with hello", "--output-format", "json")

    result = json.loads(done.stdout)
    assert done.returncode == 3
    assert result["denied"][0]["tool"] == "write"
    assert not (place.project / "new.txt").exists()


def test_rule_in_the_settings_allows_it(place: Place) -> None:
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\nallow = ["Edit(new.txt)"]\n')

    done = place.run("-p", "create new.txt with hello")

    assert done.returncode == 0, done.stderr
    assert (place.project / "new.txt").read_text().strip() == "hello"


def test_call_that_a_rule_denied_is_exit_0(place: Place) -> None:
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndeny = ["Edit(new.txt)"]\n')

    done = place.run("-p", "create new.txt with hello")

    assert done.returncode == 0, done.stderr
    assert not (place.project / "new.txt").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-such-flag"],
        ["-p"],
        ["tool"],
        ["tool", "nosuch"],
        ["tool", "read", "--json", "{"],
        ["tool", "read", "--json", "[]"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_sentence_and_exit_2(place: Place, arguments: list[str]) -> None:
    done = place.run(*arguments)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_command_that_there_is_not_is_refused_with_the_way_to_send_it(place: Place) -> None:
    done = place.run("-p", "--quiet", "/nosuch")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no command /nosuch" in done.stderr
    assert "two slashes" in done.stderr


def test_two_slashes_and_a_path_are_text_for_the_model(place: Place) -> None:
    for given, sent in (("//nosuch", "`/nosuch`"), ("/etc/hosts is what?", "`/etc/hosts is what?`")):
        assert sent in place.run("-p", given).stdout


def test_screen_without_a_terminal_is_refused_with_the_way_out(place: Place) -> None:
    done = place.run()

    assert done.returncode == 2
    assert "-p PROMPT" in done.stderr


def test_reader_that_leaves_early_gets_no_traceback(place: Place) -> None:
    command = f"{PROGRAM[0]} -m agent_tui -p 'explain this project' --output-format stream-json | head -1"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=place.project,
        env=place.env(),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_the_turn_and_names_itself(place: Place, number: signal.Signals, code: int) -> None:
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\nallow = ["Bash(sleep 60)"]\n')
    program = subprocess.Popen(
        [*PROGRAM, "-p", "run sleep 60", "--output-format", "stream-json"],
        cwd=place.project,
        env=place.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    for line in program.stdout:
        if json.loads(line)["type"] == "tool_started":
            break
    program.send_signal(number)
    rest, errors = program.communicate(timeout=RUN_S)

    assert program.returncode == code
    assert "Traceback" not in errors
    assert json.loads(rest.splitlines()[-1])["type"] == "result"


def test_round_limit_is_exit_4(place: Place) -> None:
    done = place.run("-p", "explain this project", "--max-turns", "1")

    assert done.returncode == 4


def test_tool_list_names_every_tool_with_its_schema(place: Place) -> None:
    done = place.run("tool", "--list")

    assert {"read", "write", "edit", "bash", "glob", "grep", "list"} <= {
        line["name"] for line in lines(done.stdout)
    }
    assert all(line["input_schema"]["type"] == "object" for line in lines(done.stdout))


def test_batch_keeps_one_shell_directory(place: Place) -> None:
    batch = "\n".join(
        json.dumps({"name": "bash", "input": {"command": command}}) for command in ("cd src && pwd", "pwd")
    )
    done = place.run("tool", "--batch", "-", "--yes", stdin=batch)

    assert done.returncode == 0, done.stderr
    assert all("/sunflower/src" in str(line["content"]) for line in lines(done.stdout))


def test_person_at_the_keyboard_counts_as_having_read(place: Place) -> None:
    arguments = json.dumps({"file_path": "README.md", "old_string": "petals", "new_string": "seeds"})

    done = place.run("tool", "edit", "--json", arguments, "--yes")

    assert done.returncode == 0, done.stdout
    assert "seeds" in (place.project / "README.md").read_text()


def test_tool_error_is_exit_1(place: Place) -> None:
    assert place.run("tool", "read", "--json", '{"file_path": "nosuch.txt"}').returncode == 1


def test_model_that_nobody_is_known_to_have_is_not_answered_by_the_offline_one(place: Place) -> None:
    done = place.run("-p", "hello", "--model", "nosuch")

    assert done.returncode == 2
    assert "nosuch" in done.stderr


def test_mistyped_subcommand_is_named_and_is_no_prompt(place: Place) -> None:
    done = place.run("doctr")

    assert done.returncode == 2
    assert "did you mean 'doctor'" in done.stderr


def test_quiet_run_writes_the_answer_alone(place: Place) -> None:
    done = place.run("-q", "-p", "read README.md")

    assert done.stderr == ""
    assert "Counts petals." in done.stdout


def test_state_folder_that_cannot_be_written_is_said_at_the_start(place: Place) -> None:
    shutil.rmtree(place.home / ".local/state")
    (place.home / ".local/state").write_text("a file where a folder should be")

    done = place.run("-p", "read README.md")

    assert "Nothing can be approved" in done.stderr


def test_temporary_files_of_a_killed_program_are_swept_at_the_next_start(place: Place) -> None:
    first = place.run("-p", "read README.md")
    assert first.returncode == 0
    session = next(
        path
        for path in (place.home / ".local/share/agent-tui/sessions").glob("*/*")
        if path.is_dir() and path.parent.name != "checkpoints"
    )
    left = place.project / ".README.md.0123456789abcdef.tmp"
    left.write_text("half")
    dead = subprocess.Popen(["true"])
    dead.wait()
    from agent_tui.toolkit.stale import NOTE_NAME

    (session / f"{NOTE_NAME}-{dead.pid}").write_bytes(str(left).encode() + b"\0")

    place.run("-p", "read README.md")

    assert not left.exists()

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import PROGRAM, Place
from tests.support.patience import RUN_S

Line = dict[str, object]
FLAGS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


class Talk:
    """The program with both streams at hand."""

    def __init__(self, place: Place) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, *FLAGS],
            cwd=place.project,
            env=place.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.seen: list[Line] = []

    def say(self, line: Line) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> Line:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.seen.append(json.loads(text))
            if self.seen[-1]["type"] == kind:
                return self.seen[-1]
        raise AssertionError(f"no {kind}: {self.seen}")

    def end(self) -> int:
        rest, _ = self.process.communicate(timeout=RUN_S)
        self.seen += [json.loads(text) for text in rest.splitlines()]
        return self.process.returncode


@pytest.fixture
def talk(place: Place):
    opened = Talk(place)
    yield opened
    if opened.process.poll() is None:
        opened.process.kill()
    opened.process.communicate()


def answer(asked: Line, decision: str = "allow", **more: object) -> Line:
    [item] = asked["items"]
    permissions = [{"id": one["id"], "decision": decision} for one in item["permissions"]]
    call = {"call_id": item["call_id"], "permissions": permissions, **more}
    return {"type": "approval_response", "request_id": asked["request_id"], "decisions": [call]}


def test_an_answer_on_the_input_lets_the_call_run_and_a_second_prompt_follows(
    place: Place, talk: Talk
) -> None:
    talk.say({"type": "user", "text": "create new.txt with hello"})
    asked = talk.until("approval_request")
    assert not (place.project / "new.txt").exists()
    talk.say(answer(asked, feedback="well done"))
    talk.until("result")
    assert (place.project / "new.txt").read_text().strip() == "hello"

    talk.say({"type": "user", "text": "read README.md"})
    assert "Counts petals" in str(talk.until("result")["result"])

    assert talk.end() == 0
    assert sum(line["type"] == "session_started" for line in talk.seen) == 1


def test_a_stale_or_unknown_id_rejects_the_whole_answer_and_the_question_stays_open(
    place: Place, talk: Talk
) -> None:
    talk.say({"type": "user", "text": "create new.txt with hello"})
    asked = talk.until("approval_request")

    talk.say({**answer(asked), "request_id": "approval-99"})
    assert "approval-99" in str(talk.until("input_rejected")["error"])
    two = answer(asked)
    two["decisions"] = [*two["decisions"], {"call_id": "other", "permissions": []}]
    talk.say(two)
    assert "other" in str(talk.until("input_rejected")["error"])
    assert not (place.project / "new.txt").exists()

    talk.say(answer(asked, "deny", feedback="not now"))
    result = talk.until("result")

    assert "not now" in str(result["denied"])
    assert talk.end() == 0
    assert not (place.project / "new.txt").exists()


def test_the_end_of_the_input_denies_what_is_open(place: Place, talk: Talk) -> None:
    talk.say({"type": "user", "text": "create new.txt with hello"})
    talk.until("approval_request")

    assert talk.end() == 3
    assert talk.seen[-1]["type"] == "result"
    assert not (place.project / "new.txt").exists()


def test_arguments_edited_in_an_answer_are_what_runs(place: Place, talk: Talk) -> None:
    talk.say({"type": "user", "text": "create new.txt with hello"})
    asked = talk.until("approval_request")

    talk.say(answer(asked, edited_arguments={"file_path": "new.txt", "content": "edited\n"}))
    talk.until("result")

    assert talk.end() == 0
    assert (place.project / "new.txt").read_text() == "edited\n"


def test_a_signal_while_a_question_is_open_stops_and_names_itself(place: Place, talk: Talk) -> None:
    talk.say({"type": "user", "text": "create new.txt with hello"})
    talk.until("approval_request")

    talk.process.send_signal(signal.SIGINT)

    talk.until("result")
    assert talk.process.wait(timeout=RUN_S) == 130
    assert not (place.project / "new.txt").exists()


YES = """
import json, sys
asked = json.load(sys.stdin)
calls = [{"call_id": i["call_id"], "permissions": [{"id": p["id"], "decision": "allow"} for p in i["permissions"]]}
         for i in asked["items"]]
print(json.dumps({"type": "approval_response", "request_id": asked["request_id"], "decisions": calls}))
"""


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], str]:
    def make(source: str) -> str:
        path = tmp_path / "permit me.py"
        path.write_text(source)
        return shlex.join([sys.executable, str(path)])

    return make


def test_a_permission_command_answers_instead_of_a_person(
    place: Place, command: Callable[[str], str]
) -> None:
    done = place.run("-p", "create new.txt with hello", "--permission-command", command(YES))

    assert done.returncode == 0, done.stderr
    assert (place.project / "new.txt").read_text().strip() == "hello"


def test_a_permission_command_that_fails_denies_with_exit_3(
    place: Place, command: Callable[[str], str]
) -> None:
    done = place.run(
        "-p", "create new.txt with hello", "--permission-command", command("raise SystemExit(9)")
    )

    assert done.returncode == 3
    assert "exit code 9" in done.stderr
    assert not (place.project / "new.txt").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "--input-format", "stream-json"],
        [*FLAGS, "--permission-command", "x"],
        [*FLAGS, "--on-approval", "defer"],
        ["-p", "x", "--permission-command", "'open"],
        [*FLAGS],
    ],
    ids=["output format", "two ways", "defer too", "quotes", "no prompt"],
)
def test_answers_that_make_no_sense_are_exit_2(place: Place, arguments: list[str]) -> None:
    assert place.run(*arguments).returncode == 2


def test_a_command_that_there_is_not_is_rejected_and_the_next_line_counts(talk: Talk) -> None:
    talk.say({"type": "user", "text": "/nosuch"})
    rejected = talk.until("input_rejected")
    talk.say({"type": "user", "text": "help"})

    assert (rejected["line"], "two slashes" in str(rejected["error"])) == (1, True)
    assert talk.until("result")["is_error"] is False
    assert talk.end() == 0

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Place
from tests.support.batch_world import EDITS, Batch, create
from tests.support.terminal import Terminal

ASKING = {"id": "ask", "prompt": "create asked.txt with yes", "permission_mode": "default"}


def until(condition: Any, limit_s: float = 180) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def test_each_task_has_a_worktree_a_diff_and_a_line_and_leaves_nothing(place: Place, tmp_path: Path) -> None:
    temp = tmp_path / "temp"
    temp.mkdir()
    (place.project / "README.md").write_text("not committed\n")
    tasks = [*create(2), {"id": "old", "prompt": "replace petals with leaves in README.md"}]
    batch = Batch(place, tasks)

    done = batch.run("-j", "2", *EDITS, TMPDIR=str(temp))

    assert done.returncode == 0, done.stderr
    assert "3 done; results in" in done.stderr
    results = batch.results()
    assert results["t1"]["diff"].endswith("+++ b/made/f1.txt\n@@ -0,0 +1 @@\n+number 1\n")
    assert results["t1"]["files"] == ["made/f1.txt"]
    assert "-Counts petals.\n+Counts leaves.\n" in results["old"]["diff"]
    assert batch.unchanged()
    assert list(temp.iterdir()) == []
    applied = subprocess.run(
        ["git", "-C", str(place.project), "apply"], input=results["t1"]["diff"], text=True, check=True
    )
    assert applied.returncode == 0
    assert (place.project / "made/f1.txt").read_text() == "number 1\n"


def test_finished_tasks_are_skipped_and_new_ones_run(place: Place) -> None:
    batch = Batch(place, create(1))
    batch.run(*EDITS)
    first = batch.lines()
    batch.file.write_text("".join(f"{json.dumps(task)}\n" for task in create(2)))

    done = batch.run(*EDITS)

    assert done.returncode == 0, done.stderr
    assert batch.lines()[: len(first)] == first
    assert [line["id"] for line in batch.lines()] == ["t0", "t1"]


def test_a_killed_batch_goes_on_where_it_stopped(place: Place, tmp_path: Path) -> None:
    batch = Batch(place, [*create(2), {"id": "slow", "prompt": "run sleep 30017"}, *create(4)[2:]])
    flags = ("-j", "1", "--provider", "offline", "--permission-mode", "bypass")
    with subprocess.Popen(batch.command(*flags), env=place.env(), stderr=subprocess.DEVNULL) as running:
        until(lambda: len(batch.lines()) == 2 and _has_worktree(batch))
        running.send_signal(signal.SIGKILL)
    with batch.output.open("a") as file:
        file.write('{"id": "slow", "sta')  # what a power cut leaves
    text = batch.file.read_text().replace("run sleep 30017", "create slow.txt with quick")
    batch.file.write_text(text)

    done = batch.run(*flags)

    assert done.returncode == 0, done.stderr
    assert [line["id"] for line in batch.lines()] == ["t0", "t1", "slow", "t2", "t3"]
    assert batch.unchanged()
    until(lambda: not _sleeps(30017))


def _has_worktree(batch: Batch) -> bool:
    return len(batch.git("worktree", "list").splitlines()) > 1


def _sleeps(seconds: int) -> bool:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return f"sleep {seconds}" in listed.splitlines()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_programs_and_takes_the_worktrees_away(
    place: Place, number: signal.Signals, code: int
) -> None:
    batch = Batch(place, [{"id": "slow", "prompt": "run sleep 300"}, *create(1)])
    flags = ("-j", "1", "--provider", "offline", "--permission-mode", "bypass")
    with subprocess.Popen(batch.command(*flags), env=place.env(), stderr=subprocess.DEVNULL) as running:
        until(lambda: _has_worktree(batch))
        running.send_signal(number)
        assert running.wait(60) == code

    assert batch.lines() == []
    assert batch.unchanged()


def test_a_task_that_waits_keeps_its_worktree_and_goes_on_when_it_was_answered(place: Place) -> None:
    batch = Batch(place, [ASKING, {**ASKING, "id": "deny", "on_approval": "deny"}])

    first = batch.run(*EDITS)
    waiting = batch.results()["ask"]
    again = batch.run(*EDITS)

    assert (first.returncode, again.returncode) == (3, 3)
    assert (waiting["status"], batch.results()["deny"]["status"]) == ("pending", "denied")
    assert Path(waiting["worktree"]).is_dir()
    assert batch.results()["ask"]["status"] == "pending"
    call_id = waiting["pending_approvals"][0].split("/")[1]
    assert place.run("approvals", "allow", call_id).returncode == 0

    last = batch.run(*EDITS)

    assert "1 denied, 1 done" in last.stderr
    result = batch.results()["ask"]
    assert (result["status"], result["session_id"]) == ("done", waiting["session_id"])
    assert "+yes\n" in result["diff"]
    assert batch.unchanged()
    assert not Path(waiting["worktree"]).exists()


def test_what_waits_can_be_given_up(place: Place) -> None:
    batch = Batch(place, [ASKING])
    batch.run(*EDITS)

    done = batch.run("--clean")

    assert done.returncode == 0, done.stderr
    assert batch.results()["ask"]["status"] == "denied"
    assert batch.unchanged()


def test_limits_are_each_tasks_own(place: Place) -> None:
    two_rounds = 'call glob {"pattern": "*"}\n---\ncall glob {"pattern": "*.md"}'
    tasks = [
        {"id": "short", "prompt": two_rounds, "max_turns": 1},
        {"id": "long", "prompt": two_rounds, "max_turns": 5},
        {"id": "slow", "prompt": "run sleep 300", "timeout_s": 4, "permission_mode": "bypass"},
        {"id": "broken", "prompt": "hello", "model": "openai:nothing", "provider": "openai"},
    ]
    batch = Batch(place, tasks)

    done = batch.run("--provider", "offline", "-j", "2")

    assert done.returncode == 1
    results = batch.results()
    assert {name: one["status"] for name, one in results.items()} == {
        "short": "limit",
        "long": "done",
        "slow": "timeout",
        "broken": "failed",
    }
    assert results["slow"]["error"] == "it took more than 4 s"
    assert "OPENAI_API_KEY" in results["broken"]["error"]
    assert batch.unchanged()

    assert batch.run("--provider", "offline").returncode == 1
    assert len(batch.lines()) == 4
    batch.run("--provider", "offline", "--again")
    assert sorted(line["id"] for line in batch.lines()[4:]) == ["broken", "slow"]


def test_faulty_lines_are_named_and_nothing_runs(place: Place) -> None:
    batch = Batch(place, [])
    lines = [
        '{"id": "a", "prompt": "x"}',
        "",
        "no json",
        "[1]",
        '{"id": "b"}',
        '{"id": "a", "prompt": "y"}',
        '{"id": "../up", "prompt": "y"}',
        '{"id": "c", "prompt": "y", "budget": 3}',
        '{"id": "d", "prompt": "y", "max_turns": 0}',
        '{"id": "e", "prompt": "y", "permission_mode": "godly"}',
    ]
    batch.file.write_text("\n".join(lines))

    done = batch.run()

    assert done.returncode == 2
    shown = done.stderr.replace(str(batch.file), "F")
    for words in (
        "F:3: is not JSON",
        'F:4: is no JSON object; expected {"id": ..., "prompt": ...}',
        "F:5: prompt: is missing",
        "F:6: id: 'a' is the id of line 1 too",
        "F:7: id: '../up' is no id",
        "F:8: budget: is no field of a task; did you mean 'max_budget_usd'?",
        "F:9: max_turns: ",
        "F:10: permission_mode: no mode 'godly'; there are",
    ):
        assert words in shown
    assert not batch.output.exists()


def test_what_cannot_begin_is_one_sentence(place: Place, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    cases = {
        "no commit 'nowhere'": [{"id": "a", "prompt": "x", "base": "nowhere"}],
        "no git repository": [{"id": "a", "prompt": "x", "repository": str(plain)}],
        "there is no directory": [{"id": "a", "prompt": "x", "repository": "missing"}],
    }
    for words, tasks in cases.items():
        done = Batch(place, tasks).run(*EDITS)
        assert done.returncode == 2
        assert "tasks.jsonl:1: " in done.stderr
        assert words in done.stderr

    missing = place.run("batch", "missing.jsonl")
    assert (missing.returncode, "cannot read" in missing.stderr) == (2, True)


def test_a_task_that_changed_is_not_mistaken_for_its_result(place: Place) -> None:
    batch = Batch(place, create(1))
    batch.run(*EDITS)
    batch.file.write_text(json.dumps({"id": "t0", "prompt": "create other.txt with x"}))

    done = batch.run(*EDITS)

    assert done.returncode == 2
    assert "tasks.jsonl:1: task 't0' is another one than the one whose result is in" in done.stderr


def test_two_batches_do_not_write_the_same_results(place: Place) -> None:
    batch = Batch(place, [{"id": "slow", "prompt": "run sleep 300"}])
    flags = ("--provider", "offline", "--permission-mode", "bypass")
    with subprocess.Popen(batch.command(*flags), env=place.env(), stderr=subprocess.DEVNULL) as running:
        until(lambda: _has_worktree(batch))
        second = batch.run(*flags)
        running.terminate()

    assert second.returncode == 2
    assert "another batch is writing these results" in second.stderr


def test_a_repository_cannot_make_the_checkout_run_its_programs(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (place.project / ".gitattributes").write_text("*.md filter=evil\n")
    batch = Batch(place, create(1))
    batch.git("add", "-A")
    batch.git("commit", "-qm", "attributes")
    batch.git("config", "filter.evil.smudge", f"touch {mark}; cat")
    hook = place.project / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)

    refused = batch.run(*EDITS)

    assert refused.returncode == 2
    assert "filter.evil.smudge" in refused.stderr
    assert not mark.exists()
    batch.git("config", "--unset", "filter.evil.smudge")
    assert batch.run(*EDITS).returncode == 0
    assert not mark.exists()


def test_a_terminal_sees_a_table_that_lives(place: Place) -> None:
    batch = Batch(place, [*create(1), {"id": "slow", "prompt": "run sleep 300"}])
    flags = ("-j", "2", "--provider", "offline", "--permission-mode", "bypass")
    with Terminal(
        batch.command(*flags), cwd=place.project, env=place.env(), columns=100, rows=24
    ) as terminal:
        screen = terminal.until(lambda text: "1 done, 1 running" in text)
        terminal.kill(signal.SIGINT)
        terminal.wait()

    assert re.search(r"task +state +time +tokens +files", screen)
    assert re.search(r"t0 +done +[0-9.]+ s +0 +1", screen)
    assert re.search(r"slow +running", screen)

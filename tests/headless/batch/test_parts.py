import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.headless.batch.engines import LocalEngine, _answer
from agent_tui.headless.batch.results import Results, ResultsInUse
from agent_tui.headless.batch.tasks import Task, TaskDefaults, flags, read_tasks
from agent_tui.headless.batch.worker import Order, Status, TaskResult, TryAgain
from agent_tui.headless.batch.worktree import Repository
from agent_tui.protocol.errors import AgentTuiError, UsageError


def order(task_id: str = "a") -> Order:
    return Order(id=task_id, sha256="s", repository="/r", mark="m", commit="c", flags=())


def result(task_id: str = "a", status: Status = "done") -> TaskResult:
    return TaskResult(id=task_id, status=status)


class Tries:
    """Gives one status after another."""

    def __init__(self, statuses: Sequence[Status]) -> None:
        self._left = list(statuses)

    async def __call__(self, given: Order) -> TaskResult:
        return result(given.id, self._left.pop(0))


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["retry", "retry", "done"], "done"),
        (["retry", "retry", "retry"], "retry"),
        (["failed"], "failed"),
    ],
)
def test_what_may_be_tried_again_is_as_often_as_allowed(statuses: list[Status], expected: str) -> None:
    ended: list[TaskResult] = []

    LocalEngine(jobs=1, retries=2, execute=Tries(statuses)).run([order()], lambda _id: None, ended.append)

    assert [one.status for one in ended] == [expected]


def test_an_engines_failures_are_results() -> None:
    def again() -> str:
        raise TryAgain(result(status="retry").model_dump_json())

    def wrapped() -> str:
        raise TryAgain(TryAgain(result(status="retry").model_dump_json()))

    def lost() -> str:
        raise RuntimeError("the worker is gone\nwith a long story")

    assert _answer(lambda: result().model_dump_json(), order()).status == "done"
    assert _answer(again, order()).status == _answer(wrapped, order()).status == "retry"
    gone = _answer(lost, order())
    assert (gone.status, gone.error) == (
        "stopped",
        "the engine gave up on it: RuntimeError: the worker is gone",
    )


def test_defaults_fill_what_a_task_does_not_say(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"id": "a", "prompt": "x"}\n{"id": "b", "prompt": "y", "max_turns": 3, "tools": ""}\n')

    first, second = read_tasks(file, TaskDefaults(max_turns=9, model="m", permission_mode="acceptEdits"))

    assert (first.task.max_turns, second.task.max_turns, second.task.model) == (9, 3, "m")
    assert first.task.permission_mode == "accept-edits"
    assert first.sha256 != second.sha256
    words = flags(second.task)
    assert words[words.index("--tools") + 1] == ""
    assert list(words[-4:]) == ["--name", "batch b", "--", "y"]
    assert "--tools" not in flags(first.task)


def test_a_prompt_that_looks_like_a_flag_stays_a_prompt_and_an_endless_one_is_refused(tmp_path: Path) -> None:
    assert flags(Task(id="a", prompt="--yolo"))[-2:] == ["--", "--yolo"]
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps({"id": "a", "prompt": "x" * 100_001}))
    with pytest.raises(UsageError, match=r"tasks.jsonl:1: prompt: is longer than 100,000 bytes"):
        read_tasks(file, TaskDefaults())
    file.write_text("\n".join("{" for _ in range(30)))
    with pytest.raises(UsageError, match="and 20 more"):
        read_tasks(file, TaskDefaults())
    file.write_text("\n")
    with pytest.raises(UsageError, match="no task"):
        read_tasks(file, TaskDefaults())


def test_results_are_held_by_one_and_read_by_the_next(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with Results(file) as first:
        first.append(result("a", "pending"))
        first.append(result("a"))
        with pytest.raises(ResultsInUse), Results(file):
            pass
    with file.open("a") as stream:
        stream.write('{"id": "torn')
    with Results(file) as again:
        assert {name: one.status for name, one in again.known.items()} == {"a": "done"}
        again.append(result("b"))
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ["a", "a", "b"]


def test_a_file_that_holds_no_results_is_refused_untouched(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text('{"name": "precious"}\n')

    with pytest.raises(UsageError, match=r"r.jsonl:1: is no result of a batch"), Results(file):
        pass

    assert file.read_text() == '{"name": "precious"}\n'


@pytest.mark.parametrize("precious", ['{"name": "package"}', "a note without a newline", '{"id": 1}\nhalf'])
def test_a_file_of_something_else_loses_nothing_although_it_ends_without_a_newline(
    tmp_path: Path, precious: str
) -> None:
    file = tmp_path / "package.json"
    file.write_text(precious)

    with pytest.raises(UsageError, match=r"package\.json"), Results(file):
        pass

    assert file.read_text() == precious


@pytest.fixture
def repository(workspace: Path) -> Repository:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(workspace), *words], check=True)

    git("init", "-q", "-b", "main")
    (workspace / "old.txt").write_text("old\n")
    (workspace / ".gitignore").write_text("*.log\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    return Repository(workspace, "mark-of-this-test")


async def test_a_diff_holds_new_deleted_binary_and_committed_changes(repository: Repository) -> None:
    commit = await repository.commit("HEAD")
    place = await repository.add(commit)
    (place / "old.txt").unlink()
    (place / "new dir").mkdir()
    (place / "new dir/ü.txt").write_text("new\n")
    (place / "raw.bin").write_bytes(bytes(range(256)))
    (place / "latin.txt").write_bytes(b"caf\xe9\n")
    (place / "noise.log").write_text("ignored")
    subprocess.run(["git", "-C", str(place), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(place), "commit", "-qm", "by the agent"], check=True)

    diff = await repository.diff(place, commit)
    left = await repository.left()
    await repository.remove(place)

    assert diff.files == ("latin.txt", "new dir/ü.txt", "old.txt", "raw.bin")
    assert left == [place]
    assert await repository.left() == []
    assert not place.parent.exists()
    again = await repository.add(commit)
    subprocess.run(["git", "-C", str(again), "apply", "--binary"], input=_bytes(diff.data), check=True)
    assert (again / "raw.bin").read_bytes() == bytes(range(256))
    assert (again / "latin.txt").read_bytes() == b"caf\xe9\n"
    assert not (again / "old.txt").exists()
    await repository.remove(again)


def _bytes(data: str) -> bytes:
    import base64

    return base64.b64decode(data)


async def test_a_worktree_whose_folder_is_gone_is_forgotten(repository: Repository) -> None:
    import shutil

    place = await repository.add(await repository.commit("HEAD"))
    shutil.rmtree(place.parent)

    await repository.remove(place)

    assert await repository.left() == []


async def test_a_commit_that_is_none_is_named(repository: Repository, tmp_path: Path) -> None:
    for name in ("nowhere", "--help", "HEAD:old.txt"):
        with pytest.raises(AgentTuiError, match="no commit"):
            await repository.commit(name)
    with pytest.raises(AgentTuiError, match="no git repository"):
        await Repository(tmp_path, "m").commit("HEAD")

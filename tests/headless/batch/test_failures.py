"""What goes wrong with one task stays with that task."""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agent_tui.headless.batch.engines import LocalEngine
from agent_tui.headless.batch.results import Results
from agent_tui.headless.batch.table import Progress
from agent_tui.headless.batch.tasks import TaskDefaults, read_tasks
from agent_tui.headless.batch.worker import Order, TaskResult, execute
from agent_tui.headless.batch.worktree import DIFF_LIMIT_BYTES, Repository
from agent_tui.protocol.errors import AgentTuiError, UsageError


@pytest.fixture
def repository(workspace: Path) -> Repository:
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "one")):
        (workspace / "old.txt").write_text("old\n")
        subprocess.run(["git", "-C", str(workspace), *words], check=True)
    return Repository(workspace, "mark-of-this-test")


def order(repository: Repository, commit: str, *flags: str) -> Order:
    return Order(
        id="a", sha256="s", repository=str(repository.root), mark=repository.mark, commit=commit, flags=flags
    )


async def test_a_program_that_cannot_be_started_is_the_result_of_its_task(repository: Repository) -> None:
    commit = await repository.commit("HEAD")

    for flag in ("x" * 3_000_000, "a\0b"):
        done = await execute(order(repository, commit, flag))

        assert (done.status, bool(done.error)) == ("failed", True)
    assert await repository.left() == []


async def test_no_room_for_a_worktree_is_the_result_of_its_task(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = await repository.commit("HEAD")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))

    done = await execute(order(repository, commit))

    assert done.status == "failed"
    assert done.error.startswith(f"it could not be run: {tmp_path}/nowhere/agent-tui-batch-")
    assert done.error.endswith("No such file or directory")


async def test_a_worktree_of_a_repository_that_is_gone_is_taken_away_without_a_word(
    repository: Repository,
) -> None:
    place = await repository.add(await repository.commit("HEAD"))
    repository.root.rename(repository.root.with_name("elsewhere"))

    await repository.remove(place)

    assert not place.parent.exists()


async def test_a_cut_diff_ends_with_a_whole_character(repository: Repository) -> None:
    commit = await repository.commit("HEAD")
    place = await repository.add(commit)
    for name in ("a", "aa", "aaa"):  # one of the heads puts the cut inside a character
        (place / name).write_text("€" * (DIFF_LIMIT_BYTES // 3 + 1))
        diff = await repository.diff(place, commit)
        (place / name).unlink()

        assert (diff.cut, diff.data, diff.text[-1]) == (True, "", "€")
    await repository.remove(place)


async def test_a_diff_that_git_cannot_make_is_an_error_and_not_empty(repository: Repository) -> None:
    commit = await repository.commit("HEAD")
    place = await repository.add(commit)
    blob = subprocess.run(
        ["git", "-C", str(place), "rev-parse", "HEAD:old.txt"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (place / "old.txt").write_text("new\n")

    with pytest.raises(AgentTuiError, match="git diff failed"):
        await repository.diff(place, commit)
    await repository.remove(place)


async def test_a_commit_with_a_zero_byte_is_refused_with_a_sentence(repository: Repository) -> None:
    with pytest.raises(AgentTuiError, match="git rev-parse cannot be given that"):
        await repository.commit("a\0b")


def test_a_zero_byte_is_refused_in_every_field(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    for field in ('"append_system_prompt": "a\\u0000b"', '"allowed_tools": ["a\\u0000b"]'):
        file.write_text(f'{{"id": "a", "prompt": "x", {field}}}\n')
        with pytest.raises(UsageError, match=f"{field.split(chr(34))[1]}: holds a NUL character"):
            read_tasks(file, TaskDefaults())


def test_a_file_of_tasks_without_an_end_is_refused() -> None:
    with pytest.raises(UsageError, match="/dev/zero: holds more than 100,000,000 bytes"):
        read_tasks(Path("/dev/zero"), TaskDefaults())


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is of Linux")
def test_results_that_cannot_be_written_end_the_batch_with_a_sentence() -> None:
    with (
        Results(Path("/dev/full")) as results,
        pytest.raises(AgentTuiError, match="cannot write '/dev/full': No space left"),
    ):
        results.append(TaskResult(id="a", status="done"))


def test_the_first_error_of_an_engine_is_told_as_itself() -> None:
    async def done(given: Order) -> TaskResult:
        return TaskResult(id=given.id, status="done")

    def full(_result: TaskResult) -> None:
        raise AgentTuiError("the disk is full")

    one = Order(id="a", sha256="s", repository="/r", mark="m", commit="c", flags=())
    with pytest.raises(AgentTuiError, match="the disk is full"):
        LocalEngine(jobs=2, retries=0, execute=done).run([one], lambda _id: None, full)


def test_progress_that_nobody_reads_costs_nothing() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    with Progress(["a"], [], err=Gone(), quiet=False) as progress:
        progress.finished(TaskResult(id="a", status="done"))

    assert progress.summary() == "1 done"

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Place
from tests.support.batch_world import EDITS, Batch, create

pytest.importorskip("distributed", reason="the extra batch is not installed")
TASKS = 20
LIMIT_S = 900.0


def until(condition: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)
    return found


class Cluster:
    """A scheduler and two worker processes of Dask, as on machines of their own."""

    def __init__(self, place: Place, folder: Path) -> None:
        folder.mkdir()
        self._file = folder / "scheduler.json"
        self._place, self._folder = place, folder
        self._processes: list[subprocess.Popen[bytes]] = []
        address = ["--host", "127.0.0.1", "--no-dashboard", "--no-show"]
        self._start("dask_scheduler", "--port", "0", "--scheduler-file", str(self._file), *address)
        until(lambda: self._file.exists() and self._file.stat().st_size)
        self.address: str = json.loads(self._file.read_text())["address"]
        self.workers = [self._worker(), self._worker()]

    def _worker(self) -> "subprocess.Popen[bytes]":
        place = ["--scheduler-file", str(self._file), "--host", "127.0.0.1"]
        return self._start("dask_worker", *place, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", *arguments],
            cwd=self._folder,
            env=self._place.env(DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED="False"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(process)
        return process

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(place: Place, tmp_path: Path) -> Iterator[Cluster]:
    opened = Cluster(place, tmp_path / "cluster")
    yield opened
    opened.close()


def descendants(pid: int) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    found, wanted = [], {str(pid)}
    for _ in rows:
        more = [row for row in rows if row[1] in wanted and row[0] not in wanted]
        if not more:
            break
        found += [row[2] for row in more]
        wanted |= {row[0] for row in more}
    return found


def test_twenty_tasks_on_two_workers_give_what_they_give_here_though_one_is_killed(
    place: Place, cluster: Cluster, tmp_path: Path
) -> None:
    here = Batch(place, create(TASKS), "here")
    assert here.run("-j", "2", *EDITS, timeout_s=LIMIT_S).returncode == 0
    there = Batch(place, create(TASKS), "there")
    command = there.command("--engine", "dask", "--scheduler", cluster.address, *EDITS)

    with subprocess.Popen(command, env=place.env(), stderr=subprocess.PIPE, text=True) as running:
        until(lambda: len(there.lines()) >= 4)
        victim = cluster.workers[0]
        until(lambda: any("agent_tui" in args for args in descendants(victim.pid)))  # it is at work
        os.kill(victim.pid, signal.SIGKILL)
        assert running.stderr is not None
        said = running.stderr.read()
        assert running.wait(LIMIT_S) == 0, said

    assert sorted(line["id"] for line in there.lines()) == sorted(task["id"] for task in create(TASKS))
    assert there.compared() == here.compared()
    assert there.unchanged()
    assert len({one["session_id"] for one in there.results().values()}) == TASKS


def test_a_batch_on_a_cluster_goes_on_where_it_stopped(place: Place, cluster: Cluster) -> None:
    batch = Batch(place, create(6))
    flags = ("--engine", "dask", "--scheduler", cluster.address, *EDITS)
    with subprocess.Popen(batch.command(*flags), env=place.env(), stderr=subprocess.DEVNULL) as running:
        until(lambda: len(batch.lines()) >= 2)
        running.send_signal(signal.SIGKILL)
    stopped_at = len(batch.lines())

    done = batch.run(*flags, timeout_s=LIMIT_S)

    assert done.returncode == 0, done.stderr
    assert stopped_at < 6
    assert sorted(line["id"] for line in batch.lines()) == [f"t{n}" for n in range(6)]
    assert all(one["files"] == [f"made/f{name[1:]}.txt"] for name, one in batch.results().items())
    until(batch.unchanged)


def test_without_a_scheduler_dask_starts_workers_of_its_own(place: Place) -> None:
    batch = Batch(place, create(2))

    done = batch.run("--engine", "dask", "-j", "2", *EDITS, timeout_s=LIMIT_S)

    assert done.returncode == 0, done.stderr
    assert sorted(batch.results()) == ["t0", "t1"]
    assert batch.unchanged()


def test_a_scheduler_that_does_not_answer_is_one_sentence(place: Place) -> None:
    batch = Batch(place, create(1))

    done = batch.run("--engine", "dask", "--scheduler", "nonsense://nowhere", *EDITS)

    assert done.returncode == 1
    assert "no Dask scheduler answers at 'nonsense://nowhere'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("engine", "module", "package"), [("dask", "distributed", "'dask[distributed]'"), ("ray", "ray", "ray")]
)
def test_a_missing_engine_says_how_to_install_it(
    place: Place, engine: str, module: str, package: str
) -> None:
    batch = Batch(place, create(1))
    code = f"import sys; sys.modules[{module!r}] = None; from agent_tui.cli import main; sys.exit(main(sys.argv[1:]))"

    done = subprocess.run(
        [sys.executable, "-c", code, *batch.command("--engine", engine)[3:]],
        env=place.env(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.endswith(f"beside agent-tui with: pip install {package}\n")


def test_ray_gives_the_same(place: Place) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    here, there = Batch(place, create(2), "here"), Batch(place, create(2), "there")
    here.run("-j", "2", *EDITS)

    done = there.run("--engine", "ray", "-j", "2", *EDITS, timeout_s=LIMIT_S)

    assert done.returncode == 0, done.stderr
    assert there.compared() == here.compared()

import asyncio
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from agent_tui.agent.checkpoints import Checkpoints
from tests.bench.cases import Figure, median

FOLDERS, FILES = 500, 100


def checkpoints() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder))
        first, later = asyncio.run(_scans(project, Path(folder) / "store"))
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = cpu.ru_utime + cpu.ru_stime
    yield Figure("first checkpoint of 50,000 files", f"{first:.2f} s", "")
    middle = median(later)
    yield Figure("later checkpoints, median of 9", f"{middle * 1000:.0f} ms", "<= 300 ms", middle <= 0.3)
    yield Figure("CPU of the child for all ten", f"{used:.2f} s", "")


def make_project(folder: Path) -> Path:
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".gitignore").write_text("*.log\nbuild/\n")
    for number in range(FOLDERS):
        place = project / f"package{number % 20}" / f"part{number}"
        place.mkdir(parents=True)
        for file in range(FILES):
            (place / f"file{file}.py").write_text(f"# {number} {file}\n" * 20)
    return project


async def _scans(project: Path, store: Path) -> tuple[float, list[float]]:
    made = Checkpoints(project, store)
    times: list[float] = []
    for _ in range(10):
        started = time.perf_counter()
        await made.take()
        times.append(time.perf_counter() - started)
    await made.aclose()
    return times[0], times[1:]

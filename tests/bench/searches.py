import asyncio
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.cases import Figure
from tests.support.tool_world import ToolWorld, make_world

FILES = 100_000
ROUNDS = 3
_LISTING = ("--files", "-g", "*.md")
WITH_RG, WITHOUT_RG = 1.5, 15.0


def plant(root: Path, files: int = FILES) -> None:
    """A git work tree of small source files, a hundred a folder; one in a thousand holds "needle"."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text("*.pyc\nbuild/\nnode_modules/\n*.log\n!keep.log\n/tmp\n")
    for number in range(files):
        folder = root / f"pkg{number // 2500}" / f"mod{number // 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        text = f"import os\n\ndef function_{number % 100}(x):\n    return x + {number}\n" * 5
        name = f"file{number % 100}.{'md' if number % 10 == 0 else 'py'}"
        (folder / name).write_text(text + ("needle\n" if number % 1000 == 7 else ""))


def searches() -> Iterator[Figure]:
    """Grep and glob over 100,000 files against rg, and 1 GB of output of a command."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ws"
        root.mkdir()
        plant(root)
        world = make_world(root)
        if shutil.which("rg"):
            yield from _searches(world, root)
        else:
            yield Figure("search", "rg is not installed", "")
        yield asyncio.run(_flood(world))


def _searches(world: ToolWorld, root: Path) -> Iterator[Figure]:
    cases: list[tuple[str, str, dict[str, Any], list[str]]] = [
        ("glob **/*.md, sorted", "glob", {"pattern": "**/*.md"}, [*_LISTING, "--sortr=modified", "./"]),
        ("glob **/*.md, unsorted", "glob", {"pattern": "**/*.md"}, [*_LISTING, "./"]),
        ("grep needle", "grep", {"pattern": "needle"}, ["-n", "needle", "./"]),
        ("grep function_7\\(", "grep", {"pattern": "function_7\\("}, ["-n", "function_7\\(", "./"]),
    ]
    path = os.environ["PATH"]
    for title, tool, arguments, command in cases:
        theirs = min(_plain(["rg", *command], root) for _ in range(ROUNDS))
        for engine, goal in (("rg", WITH_RG), ("own search", WITHOUT_RG)):
            os.environ["PATH"] = path if engine == "rg" else "/nonexistent"
            try:
                ours = asyncio.run(_best(partial(world.run, tool, **arguments)))
            finally:
                os.environ["PATH"] = path
            # an unsorted listing is another answer: its ratio is for information
            bound = None if "unsorted" in title else goal
            yield _ratio(f"{title}, {FILES:,} files, {engine} / rg", ours, theirs, bound)


def _plain(command: list[str], root: Path) -> float:
    begin = time.perf_counter()
    subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


async def _best(work: Callable[[], Awaitable[object]]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _ratio(name: str, ours: float, theirs: float, goal: float | None) -> Figure:
    value = f"{ours / theirs:.2f} x ({ours * 1000:.0f} ms / {theirs * 1000:.0f} ms)"
    if goal is None:
        return Figure(name, value, "")
    return Figure(name, value, f"<= {goal:g} x", ours / theirs <= goal)


async def _flood(world: ToolWorld) -> Figure:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, cpu = time.perf_counter(), time.process_time()
    await world.bash("yes | head -c 1000000000", timeout=600_000)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    value = f"{grown:.0f} MB, {time.process_time() - cpu:.1f} s CPU, {time.perf_counter() - begin:.1f} s"
    return Figure("bash: 1 GB of output", value, "< 50 MB", grown < 50)

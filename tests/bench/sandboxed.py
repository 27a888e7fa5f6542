import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from agent_tui.sandbox.bwrap import BwrapSandbox
from agent_tui.sandbox.interface import Confinement, Launch, Profile
from agent_tui.sandbox.probe import bwrap_refused
from tests.bench.cases import Figure, at_most, median

FILES = 50_000
RUNS = 40
ARGV = ("/bin/bash", "-c", "true")
ENV = {"PATH": "/usr/bin:/bin"}


def sandboxed() -> Iterator[Figure]:
    """What the sandbox adds to a command in a tree of 50,000 files."""
    if refused := bwrap_refused():
        yield Figure("sandbox", refused, "")
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        plant(root / "ws")
        (root / "tmp").mkdir()
        yield from _figures(root / "ws", root / "tmp")


def plant(root: Path, files: int = FILES) -> None:
    """A git work tree of empty files, a hundred a folder."""
    for number in range(files // 100):
        folder = root / f"pkg{number // 25}" / f"mod{number}"
        folder.mkdir(parents=True)
        for name in range(100):
            (folder / f"f{name}.py").touch()
    subprocess.run(["git", "init", "-q", str(root)], check=True)


def _figures(workspace: Path, temp: Path) -> Iterator[Figure]:
    sandbox = BwrapSandbox(workspace, home=Path("/nonexistent"), temp=temp)
    try:
        start = time.perf_counter()
        sandbox.warm_up()
        yield at_most(
            "search of 50,000 files, once a session", (time.perf_counter() - start) * 1000, 1000, "ms"
        )
        bare, write, read = list[float](), list[float](), list[float]()
        for _ in range(RUNS):
            bare.append(_run(lambda: Launch(ARGV, ENV, workspace)))
            for profile, kept in ((Profile.WORKSPACE, write), (Profile.READ_ONLY, read)):
                confinement = Confinement(profile=profile)
                launch = partial(sandbox.launch, ARGV, cwd=workspace, confinement=confinement, env=ENV)
                kept.append(_run(launch))
        yield Figure("bash -c true", f"{median(bare) * 1000:.1f} ms", "")
        for name, kept in (("workspace", write), ("read-only", read)):
            yield at_most(f"sandbox adds, {name}", (median(kept) - median(bare)) * 1000, 40, "ms")
    finally:
        sandbox.close()


def _run(make: Callable[[], Launch]) -> float:
    start = time.perf_counter()
    launch = make()
    process = subprocess.Popen(
        launch.argv, env=dict(launch.env), cwd=launch.cwd, pass_fds=launch.pass_fds, stdout=subprocess.DEVNULL
    )
    code = process.wait()
    took = time.perf_counter() - start
    for fd in launch.close_after:
        os.close(fd)
    assert code == 0
    return took

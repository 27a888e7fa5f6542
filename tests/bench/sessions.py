import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_tui.sessions.frames import RawRecord
from agent_tui.sessions.store import SessionStore
from tests.bench.cases import Figure, at_most, median, percentile, type_letters
from tests.bench.checkpoints import make_project
from tests.bench.stored import stored_records
from tests.bench.terminal import Child
from tests.support.session_world import one_turn

ENTRIES, A_TURN = 10_000, 7
SESSIONS = 1_000
LAST = "\u03a9last"
_COMPACTED_EVERY = 600
_GOALS_MIB = {10_000: 100.0, 50_000: 130.0}
_SCAN = """
import asyncio, sys
from pathlib import Path
from agent_tui.agent.checkpoints import Checkpoints
async def main():
    made = Checkpoints(Path(sys.argv[1]), Path(sys.argv[2]))
    await made.take()
    print("first", flush=True)
    while True:
        await made.take()
        await asyncio.sleep(0.2)
asyncio.run(main())
"""


def sessions() -> Iterator[Figure]:
    yield from opening()
    yield from resting()
    yield from searching()
    yield from scanning()


def opening(runs: int = 3) -> Iterator[Figure]:
    """The real program with a stored session, from exec until its last words are on screen."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        project = home / "project"
        project.mkdir()
        asyncio.run(_long_session(home / ".local/share/agent-tui/sessions", project))
        bare, ours = list[float](), list[float]()
        for _ in range(runs):
            with Child("bare") as child:
                bare.append(child.until("painted")["cpu_s"])
            env = {**os.environ, "HOME": str(home), "PYTHONPATH": os.getcwd(), "ANTHROPIC_API_KEY": ""}
            argv = [sys.executable, "-m", "agent_tui", "--resume", "long"]
            with Child(program=argv, environment=env, cwd=project) as child:
                child.until_shown(LAST.encode())
                ours.append(child.cpu_s())
    yield Figure(f"a session of {ENTRIES:,} entries opened", f"{min(ours) * 1000:.0f} ms CPU", "")
    yield at_most("the same / first frame of a bare Textual app", min(ours) / min(bare), 3.0, "x", 2)


async def _long_session(root: Path, project: Path) -> None:
    session = SessionStore(root).create(project, session_id="long")
    turns = ENTRIES // A_TURN
    for number in range(turns):
        await one_turn(
            session, f"prompt {number}" if number < turns - 1 else LAST, output=f"{number} line\n" * 30
        )
    await session.aclose()


def resting(counts: Sequence[int] = (10_000, 50_000), *, uncompacted: int = 10_000) -> Iterator[Figure]:
    """Memory of the real program once a stored session stands there and nothing happens any more.

    10,000 blocks of real work are millions of tokens: a session of that length was compacted again and again.
    """
    empty, empty_peak = _rests_with(stored_records(0))
    yield Figure(
        "RSS with a stored session of no blocks / at its peak", f"{empty:.0f} / {empty_peak:.0f} MiB", ""
    )
    for count in counts:
        rests, peak = _rests_with(stored_records(count, compacted_every=_COMPACTED_EVERY))
        what = f"RSS with a stored session of {count:,} blocks"
        yield at_most(what, rests, _GOALS_MIB[count], "MiB", 0)
        yield Figure("the same, at its peak", f"{peak:.0f} MiB", "")
    rests, peak = _rests_with(stored_records(uncompacted))
    yield Figure(
        f"the same with {uncompacted:,}, never compacted / at its peak", f"{rests:.0f} / {peak:.0f} MiB", ""
    )


def _rests_with(records: list[RawRecord]) -> tuple[float, float]:
    """Open a session of these records in the program; give what it holds at rest and held at most, in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        project = home / "project"
        project.mkdir()
        store = SessionStore(home / ".local/share/agent-tui/sessions")
        store.write_whole(project, records, name="long")
        env = {**os.environ, "HOME": folder, "PYTHONPATH": os.getcwd(), "ANTHROPIC_API_KEY": ""}
        argv = [sys.executable, "-m", "agent_tui", "--resume", "long"]
        with Child(program=argv, environment=env, cwd=project) as child:
            child.until_shown(LAST.encode())
            _until_still(child)
            return child.rss_mib(), child.peak_mib()


def _until_still(child: Child, rounds: int = 6) -> None:
    before, still = -1.0, 0
    while still < rounds:
        stop = time.perf_counter() + 0.5
        while (left := stop - time.perf_counter()) > 0:
            child.pump(left)
        now = child.cpu_s()
        still = still + 1 if now - before < 0.015 else 0
        before = now


def searching() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder) / "sessions")
        asyncio.run(_many(store, Path(folder)))
        began = time.perf_counter()
        store.search("nothing at all")
        first = time.perf_counter() - began
        times: list[float] = []
        for number in range(20):
            began = time.perf_counter()
            found = SessionStore(store.root).search(f"needle{number * 37:04}x")
            times.append((time.perf_counter() - began) * 1000)
            assert len(found) == 1
    yield Figure(f"{SESSIONS:,} sessions: the index built anew", f"{first:.2f} s", "")
    yield at_most(
        f"search in the text of {SESSIONS:,} sessions, p95", percentile(times, 0.95), 300.0, "ms", 0
    )
    yield Figure("the same, median", f"{median(times):.0f} ms", "")


async def _many(store: SessionStore, project: Path) -> None:
    for number in range(SESSIONS):
        session = store.create(project)
        for turn in range(3):
            await one_turn(
                session, f"turn {turn} about the parser", output=f"needle{number:04}x {'words ' * 200}"
            )
        await session.aclose()


def scanning() -> Iterator[Figure]:
    """Keys in the program while another process takes checkpoint after checkpoint of 50,000 files."""
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder))
        scan = subprocess.Popen(
            [sys.executable, "-c", _SCAN, project, Path(folder, "store")], stdout=subprocess.PIPE, text=True
        )
        try:
            assert scan.stdout is not None
            scan.stdout.readline()
            with Child("program") as child:
                child.until("ready")
                child.quiet()
                times = type_letters(child, 90, 0.05)
        finally:
            scan.kill()
            scan.communicate()
    yield at_most("key echo while 50,000 files are scanned, p95", percentile(times, 0.95), 20.0, "ms")

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from agent_tui.providers.scripted import ScriptedProvider, calls, text, use
from agent_tui.sessions.store import SessionStore
from tests.bench.cases import Figure, at_most, median
from tests.support.agent_world import World

TURNS = 1_000
WARM = 100


def turns() -> Iterator[Figure]:
    """Run in a process of its own: memory is counted there."""
    argv = [sys.executable, "-m", "tests.bench.turns"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    first, last, kept, early, late = map(float, said.split())
    yield Figure(f"{TURNS:,} turns: text since turn {WARM}", f"{kept:.1f} MiB", "")
    yield Figure(f"{TURNS:,} turns: RSS after turn {WARM} / the last", f"{first:.1f} / {last:.1f} MiB", "")
    yield at_most(f"{TURNS:,} turns: growth beyond that text", 100 * (last - first - kept) / first, 10.0, "%")
    yield Figure(f"{TURNS:,} turns: a turn, first / last {WARM}", f"{early:.2f} / {late:.2f} ms CPU", "")
    yield at_most(f"{TURNS:,} turns: last / first {WARM}", late / early, 1.5, "x", 2)


def rss_mib() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


async def run(folder: Path) -> tuple[float, ...]:
    """Give RSS after turn WARM and at the end (MiB), the text between (MiB), CPU of a turn then and then (ms)."""
    import_module("agent_tui.run.assembly")  # the memory of a program, not of a test
    replies = (
        reply for n in range(TURNS) for reply in (calls(use("read", {"n": n})), text(f"reply {n} " * 20))
    )
    world = World(ScriptedProvider(replies, keep_requests=0))
    record = SessionStore(folder).create(folder)
    agent = world.agent(journal=record)
    times, sizes = list[float](), list[float]()
    for number in range(TURNS):
        began = time.process_time()
        await agent.run(f"prompt {number} " * 10)
        times.append((time.process_time() - began) * 1000)
        world.sink.events.clear()
        world.rounds.ran.clear()
        if number in (WARM - 1, TURNS - 1):
            sizes.append(rss_mib())
    await record.aclose()
    kept = sum(len(message.model_dump_json()) for message in agent.history[4 * WARM :]) / (1 << 20)
    return (*sizes, kept, median(times[:WARM]), median(times[-WARM:]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(*asyncio.run(run(Path(place))))

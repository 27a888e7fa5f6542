import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.cases import Figure, at_most, median
from tests.support.approval_requests import bash_request, edit_request
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import Stage, stage

CALLS = 60
ROUNDS = 6
MOVES = 20


def approvals() -> Iterator[Figure]:
    """Run in a process of its own: what other figures have imported must not help."""
    argv = [sys.executable, "-m", "tests.bench.approvals"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    first, opening, moving, deciding = map(float, said.split())
    name = f"a round of {CALLS} calls"
    yield Figure(f"{name}: the first one opens", f"{first:.0f} ms CPU", "")
    yield at_most(f"{name}: opens, diffs at hand", opening, 150.0, "ms CPU", 0)
    yield at_most(f"{name}: moves, a key", moving, 10.0, "ms CPU")
    yield Figure(f"{name}: decides, a key", f"{deciding:.1f} ms CPU", "")


async def cost_ms(here: Stage, keys: list[str]) -> float:
    """The median CPU of a key, drawing and the waiting of the test included."""
    costs = list[float]()
    for key in keys:
        began = time.process_time()
        await here.press(key)
        costs.append((time.process_time() - began) * 1000)
    return median(costs)


async def run() -> tuple[float, ...]:
    """Give the CPU (ms) of the first opening, of a later one, of a key that moves and of one that decides."""
    requests = [
        edit_request(f"c{index}", f"src/m{index % 20}/f{index}.py", pattern=f"Edit(/src/m{index % 20}/**)")
        if index % 2
        else bash_request(f"c{index}", f"pytest tests/test_{index}.py -q", pattern="Bash(pytest *)")
        for index in range(CALLS)
    ]
    asked = list[float]()

    async def note(_backend: FakeBackend) -> None:
        asked.append(time.process_time())

    backend = FakeBackend(Path("/proj"), script=[[note, approve(*requests)] for _ in range(ROUNDS)])
    opening, moving, deciding = list[float](), list[float](), list[float]()
    async with stage(Path("/proj"), backend=backend, size=(120, 40)) as here:
        for number in range(ROUNDS):
            await here.send("go")
            await here.approval()
            await here.settle()
            opening.append((time.process_time() - asked[number]) * 1000)
            moving.append(await cost_ms(here, ["down"] * MOVES + ["up"] * MOVES))
            deciding.append(await cost_ms(here, ["n"] * MOVES))
            await here.press("x", "enter")
            await here.idle()
    return opening[0], min(opening[1:]), min(moving[1:]), min(deciding[1:])


if __name__ == "__main__":
    print(*asyncio.run(run()))

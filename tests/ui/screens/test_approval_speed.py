import gc
import time
from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.permissions import PermissionRequest
from tests.support.approval_requests import bash_request, edit_request
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import Stage, stage

FEW, MANY = 6, 60


def requests(count: int) -> Sequence[PermissionRequest]:
    return [
        edit_request(f"c{index}", f"src/m{index % 20}/f{index}.py", pattern=f"Edit(/src/m{index % 20}/**)")
        if index % 2
        else bash_request(f"c{index}", f"pytest tests/test_{index}.py -q", pattern="Bash(pytest *)")
        for index in range(count)
    ]


async def cost_s(here: Stage, *keys: str) -> float:
    """The processor time of one of these keys, on average: what a key paints may fall into the time of the next."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        await here.press(*keys)
        return (time.process_time() - began) / len(keys)
    finally:
        gc.enable()


async def costs_of(here: Stage) -> tuple[float, float, float]:
    """The processor time of opening a round, of moving in it and of deciding there."""
    began = time.process_time()
    await here.send("go")
    await here.approval()
    opening = time.process_time() - began
    moving = await cost_s(here, *["down"] * 5, *["up"] * 5)
    deciding = await cost_s(here, *["n"] * (FEW - 1))
    await here.press("x", "enter")
    await here.idle()
    return opening, moving, deciding


async def test_a_round_of_ten_times_the_calls_costs_no_key_twice_as_much() -> None:
    script = [[approve(*requests(count))] for count in (FEW, FEW, MANY)]
    async with stage(
        Path("/proj"), backend=FakeBackend(Path("/proj"), script=script), size=(120, 40)
    ) as here:
        await costs_of(here)  # loads what only the first screen loads
        few = await costs_of(here)
        many = await costs_of(here)

    assert many[0] < 3 * few[0]
    assert many[1] < 2 * few[1] + 0.005
    assert many[2] < 2 * few[2] + 0.005

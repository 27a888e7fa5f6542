"""How long a test waits for what must come: the machine may be busy with other things."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""Ends a wait for something that never comes; nothing that comes is measured by it."""
RUN_S = 300.0
"""The same for a whole run of the program, which costs seconds of processor time."""


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until `condition` holds. Raises TimeoutError."""
    end = time.monotonic() + PATIENCE_S
    turns = 0
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen")
        turns += 1
        # The first turns take no time, so that little is missed; then threads and processes get the processor.
        await asyncio.sleep(0 if turns < 200 else 0.005)


def until_now(condition: Callable[[], object]) -> None:
    """Hold up the thread until `condition` holds. Raises TimeoutError."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen")
        time.sleep(0.005)


async def at_rest() -> None:
    """Let the loop run until it has nothing to do but to wait for a time, a file or a thread."""
    loop = asyncio.get_running_loop()
    end = time.monotonic() + PATIENCE_S
    turns = 0
    while turns < 3 and time.monotonic() < end:
        await asyncio.sleep(0)
        turns = 0 if loop._ready else turns + 1

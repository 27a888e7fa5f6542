import asyncio

import pytest

from agent_tui.executor.bounded import Settled, StopSignal, Workers, flattened


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_work_that_ends_gives_its_value_and_its_error() -> None:
    async def work() -> str:
        return "value"

    async def fail() -> str:
        raise KeyError("lost")

    assert await Workers().run(work()) == Settled("done", "value")
    with pytest.raises(KeyError):
        await Workers().run(fail())


async def test_work_past_its_limit_or_stopped_gives_what_it_still_returns() -> None:
    async def partial() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "partial"
        return "never"

    stop = StopSignal()
    asyncio.get_running_loop().call_soon(stop.press)

    assert await Workers().run(partial(), limit_s=0.01) == Settled("timeout", "partial")
    assert await Workers().run(partial(), stop=stop) == Settled("stopped", "partial")
    assert await Workers().run(forever(), stop=stop) == Settled("stopped", None)


async def test_work_that_raises_while_it_is_stopped_is_only_stopped() -> None:
    async def rude() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("rude")

    assert await Workers().run(rude(), limit_s=0.01) == Settled("timeout", None)


async def test_an_error_of_the_program_ends_only_the_work() -> None:
    async def leaves() -> str:
        raise SystemExit(1)

    async def mixed() -> str:
        raise BaseExceptionGroup("g", [KeyboardInterrupt("k"), ValueError("v")])

    with pytest.raises(RuntimeError, match="SystemExit"):
        await Workers().run(leaves())
    with pytest.raises(RuntimeError, match="KeyboardInterrupt: k; ValueError: v"):
        await Workers().run(mixed())


async def test_a_stray_is_kept_until_it_ends() -> None:
    gate = asyncio.Event()

    async def deaf() -> str:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("late")

    workers = Workers(end_grace_s=0.01)

    assert await workers.run(deaf(), limit_s=0.01) == Settled("timeout", None)
    gate.set()
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_signal_pressed_before_stops_at_once() -> None:
    stop = StopSignal()
    stop.press()
    stop.press()

    assert (await Workers().run(forever(), stop=stop)).how == "stopped"


def test_groups_are_flattened_to_their_errors() -> None:
    inner, outer = ValueError("a"), KeyError("b")

    assert flattened(ExceptionGroup("g", [ExceptionGroup("h", [inner]), outer])) == [inner, outer]
    assert flattened(inner) == [inner]

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.executor.context import ToolRoundCtx
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.strategy import ParallelToolRoundExecutor, SerialToolRoundExecutor
from agent_tui.protocol.events import Notice, ToolFinished, ToolStarted
from agent_tui.protocol.tools import ToolCall
from tests.support.round_world import Approver, FakePolicy, call, effects, make_world, output


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_m01_serial_is_one_by_one_in_request_order(workspace: Path) -> None:
    world = make_world(workspace, executor=SerialToolRoundExecutor())

    await world.run(*(call(f"c{i}", path="a") for i in range(3)))

    assert world.log.lines == [f"{word} c{i}" for i in range(3) for word in ("start", "end")]


@pytest.mark.parametrize(("name", "limit"), [("read", 10), ("task", 4)])
async def test_x03_h02_neighbours_overlap_up_to_their_limit(workspace: Path, name: str, limit: int) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["task"]))
    calls = [call(f"c{i}", name, path="a") for i in range(limit + 2)]
    for item in calls:
        world.log.gate(item.call_id)

    async with asyncio.TaskGroup() as group:
        group.create_task(world.run(*calls))
        await world.log.arrival(f"c{limit - 1}").wait()
        await settle()
        running = len(world.log.lines)
        for gate in world.log.gates.values():
            gate.set()

    assert running == limit
    assert len(world.log.lines) == 2 * len(calls)


async def test_the_parents_writers_wait_for_sub_agents(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["task", "write"]))
    world.log.gate("t0")

    async with asyncio.TaskGroup() as group:
        group.create_task(world.run(call("t0", "task"), call("t1", "task"), call("w", "write", path="a")))
        await world.log.arrival("t1").wait()
        await settle()
        assert "start w" not in world.log.lines
        world.log.gate("t0").set()


async def test_two_agents_never_write_one_file_at_once(workspace: Path) -> None:
    locks, policy = PathLocks(), FakePolicy(allow=["write"])
    parent = make_world(workspace, policy=policy, locks=locks)
    child = make_world(workspace, policy=policy, locks=locks, origin="call_1")
    parent.log.gate("p")

    async with asyncio.TaskGroup() as group:
        group.create_task(parent.run(call("p", "write", path="same")))
        await parent.log.arrival("p").wait()
        group.create_task(child.run(call("k", "write", path="same"), call("other", "write", path="free")))
        await settle()
        assert child.log.lines == []
        parent.log.gate("p").set()

    assert child.log.lines[0] == "start k"


async def test_locks_of_several_paths_are_taken_in_one_order_and_forgotten() -> None:
    locks, log = PathLocks(), list[str]()

    async def hold(name: str, *paths: str) -> None:
        async with locks.hold(paths):
            log.append(name)
            await asyncio.sleep(0)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for index in range(10):
            paths = ["a", "b"] if index % 2 else ["b", "a", "a"]
            group.create_task(hold(str(index), *paths))

    assert len(log) == 10
    assert locks.held == frozenset()


class Reverse:
    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        for item in reversed(calls):
            await ctx.run(item)


class Gate:
    """Lets nothing through that is named in `closed`."""

    def __init__(self, *closed: str) -> None:
        self.closed = closed

    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        for item in calls:
            if item.call_id in self.closed:
                await ctx.deny(item, "the gate is closed")
            else:
                await ctx.run(item)


class Early:
    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        await ctx.run(calls[0])


class StopsAtFailure:
    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        for item in calls:
            outcome = await ctx.run(item)
            if outcome is not None and outcome.result.is_error:
                return


async def test_m18_an_executor_in_reverse_order_still_gives_request_order(workspace: Path) -> None:
    world = make_world(workspace, executor=Reverse())

    batch = await world.run(*(call(f"c{i}", path="a") for i in range(3)))

    assert list(effects(batch)) == ["c0", "c1", "c2"]
    assert [line for line in world.log.lines if line.startswith("start")] == [
        "start c2",
        "start c1",
        "start c0",
    ]


async def test_m06_an_approval_gate_denies_in_the_normal_channel(workspace: Path) -> None:
    world = make_world(workspace, executor=Gate("c1"))

    batch = await world.run(*(call(f"c{i}", path="a") for i in range(3)))

    assert effects(batch) == {"c0": "ran", "c1": "denied", "c2": "ran"}
    assert output(batch, "c1") == "the gate is closed"
    assert "start c1" not in world.log.lines


async def test_m05_an_executor_that_returns_early_keeps_what_is_recorded(workspace: Path) -> None:
    world = make_world(workspace, executor=Early())

    batch = await world.run(*(call(f"c{i}", path="a") for i in range(3)))

    assert effects(batch) == {"c0": "ran", "c1": "not_run", "c2": "not_run"}
    assert output(batch, "c1") == "not run"
    assert [o.tool_use_id for o in world.journal.outcomes()] == ["c0", "c1", "c2"]


async def test_m04_an_executor_sees_each_outcome_as_it_comes(workspace: Path) -> None:
    world = make_world(workspace, executor=StopsAtFailure())

    batch = await world.run(
        call("c0", path="a"), call("c1", "faulty", how="tool-error"), call("c2", path="a")
    )

    assert effects(batch) == {"c0": "ran", "c1": "failed", "c2": "not_run"}


async def test_m02_an_executor_cannot_skip_the_events_of_a_call(workspace: Path) -> None:
    world = make_world(workspace, executor=Reverse())

    await world.run(call("c0", path="a"))

    assert len(world.sink.of(ToolStarted)) == len(world.sink.of(ToolFinished)) == 1


async def test_an_executor_cannot_run_other_arguments_or_a_denied_call(workspace: Path) -> None:
    class Cheat:
        async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
            for item in calls:
                await ctx.run(item.model_copy(update={"arguments_json": '{"path": "evil"}'}))
            await ctx.run(call("denied", "write", path="evil"))

    world = make_world(workspace, executor=Cheat(), approver=Approver(deny=["denied"]))

    batch = await world.run(call("c0", "write", path="a"), call("denied", "write", path="b"))

    assert effects(batch) == {"c0": "ran", "denied": "denied"}
    assert [path.name for path in workspace.iterdir()] == ["a"]


async def test_running_a_call_twice_runs_it_once(workspace: Path) -> None:
    class Twice:
        async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
            first = await ctx.run(calls[0])
            assert await ctx.run(calls[0]) == first

    world = make_world(workspace, executor=Twice())

    await world.run(call("c0", path="a"))

    assert world.log.lines == ["start c0", "end c0"]


async def test_m07_an_executor_that_fails_costs_no_answer(workspace: Path) -> None:
    class Broken:
        async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
            await ctx.run(calls[0])
            raise ValueError("broken")

    world = make_world(workspace, executor=Broken())

    batch = await world.run(call("c0", path="a"), call("c1", path="b"))

    assert effects(batch) == {"c0": "ran", "c1": "not_run"}
    assert [event.text for event in world.sink.of(Notice)] == ["The round executor failed: broken"]


async def test_a_call_that_began_is_not_said_not_to_have_run_when_its_executor_fails(workspace: Path) -> None:
    class Leaves:
        async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(ctx.run(calls[0]))
                await world.log.arrival("c0").wait()
                raise ValueError("broken")

    world = make_world(workspace, executor=Leaves())
    world.log.gate("c0")

    batch = await world.run(call("c0", "write", path="a"), call("c1", path="b"))

    assert effects(batch) == {"c0": "cancelled", "c1": "not_run"}
    assert output(batch, "c0").startswith("The call began")


async def test_smaller_limits_may_be_given(workspace: Path) -> None:
    world = make_world(workspace, executor=ParallelToolRoundExecutor(max_readers=1))

    await world.run(*(call(f"c{i}", path="a") for i in range(2)))

    assert world.log.lines == ["start c0", "end c0", "start c1", "end c1"]

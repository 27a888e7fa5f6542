import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.executor.hooks import BeforeCall
from agent_tui.executor.strategy import SerialToolRoundExecutor
from agent_tui.protocol.events import ApprovalRequested, ToolStarted
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.protocol.tools import BatchResult, ToolCall
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.testing import ScriptedApprover
from agent_tui.toolkit.threads import off_loop
from tests.support.round_world import (
    FakePolicy,
    FakeReview,
    Hooks,
    RoundWorld,
    call,
    effects,
    make_world,
    outcome,
    output,
)


async def cancelled_at(world: RoundWorld, call_id: str, *calls: ToolCall, then: str = "") -> BatchResult:
    """Run a round, press Esc once `call_id` runs, and open the gate `then`."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.run(*calls))
        await world.log.arrival(call_id).wait()
        world.rounds.cancel()
        await asyncio.sleep(0)
        if then:
            world.log.gate(then).set()
    return running.result()


async def test_x17_item_04_what_did_not_start_is_cancelled_and_every_id_is_answered(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["bash", "write"]))

    batch = await cancelled_at(
        world,
        "c1",
        call("c0", path="a"),
        call("c1", "bash", command="sleep"),
        call("c2", "write", path="b"),
        call("c3", path="c"),
    )

    assert effects(batch) == {"c0": "ran", "c1": "cancelled", "c2": "cancelled", "c3": "cancelled"}
    assert output(batch, "c2") == "cancelled by user"
    assert batch.cancelled
    assert [o.tool_use_id for o in world.journal.outcomes()] == ["c0", "c1", "c2", "c3"]
    assert len(world.sink.of(ToolStarted)) == 2


async def test_a23_a_stopped_command_says_so_after_what_it_printed(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["bash"]))

    batch = await cancelled_at(world, "c0", call("c0", "bash", command="sleep"))

    assert output(batch, "c0").startswith("printed so far\nStopped by the user")
    assert outcome(batch, "c0").result.is_error


async def test_a_reader_is_stopped_and_says_so(workspace: Path) -> None:
    world = make_world(workspace)
    world.log.gate("c0")

    batch = await cancelled_at(world, "c0", call("c0", path="a"))

    assert effects(batch) == {"c0": "cancelled"}
    assert output(batch, "c0").startswith("Stopped by the user")


async def test_a_writer_finishes_its_write(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["write"]))
    world.log.gate("c0")

    batch = await cancelled_at(
        world, "c0", call("c0", "write", path="a", text="whole"), call("c1", path="b"), then="c0"
    )

    assert effects(batch) == {"c0": "ran", "c1": "cancelled"}
    assert (workspace / "a").read_text() == "whole"


async def test_m03_m13_an_atomic_round_runs_to_its_end(workspace: Path) -> None:
    world = make_world(workspace, executor=SerialToolRoundExecutor(atomic=True))
    world.log.gate("c0")

    batch = await cancelled_at(world, "c0", call("c0", path="a"), call("c1", path="b"), then="c0")

    assert effects(batch) == {"c0": "ran", "c1": "ran"}
    assert batch.cancelled


async def test_pr_03_a_cancel_has_no_effect_on_the_next_round(workspace: Path) -> None:
    world = make_world(workspace)
    world.rounds.cancel()
    world.log.gate("c0")

    await cancelled_at(world, "c0", call("c0", path="a"))
    world.rounds.cancel()
    batch = await world.run(call("c1", path="a"))

    assert effects(batch) == {"c1": "ran"}
    assert not batch.cancelled


class OpenScreen:
    """An approver that stays open; says how it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        try:
            await asyncio.Event().wait()
        finally:
            self.closed = True
        return {}


async def test_a21_a_cancel_closes_the_open_question_and_runs_nothing(workspace: Path) -> None:
    screen = OpenScreen()
    world = make_world(workspace, approver=screen)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.run(call("c0", "write", path="a"), call("c1", path="b")))
        await world.sink.until(ApprovalRequested)
        world.rounds.cancel()
    batch = running.result()

    assert screen.closed
    assert effects(batch) == {"c0": "cancelled", "c1": "cancelled"}
    assert world.log.lines == []
    assert world.journal.kinds()[:3] == ["round_started", "approval_requested", "approval_decided"]


class HangingPolicy(FakePolicy):
    """Stores answers on a disk that never comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.storing = asyncio.Event()

    async def record(self, request: PermissionRequest, verdict: Verdict, *, edited: bool = False) -> None:
        self.storing.set()
        await asyncio.Event().wait()


async def test_a_cancel_while_an_answer_is_stored_runs_nothing(workspace: Path) -> None:
    policy = HangingPolicy()
    world = make_world(workspace, policy=policy)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.run(call("c0", "write", path="a"), call("c1", "write", path="b")))
        await policy.storing.wait()
        world.rounds.cancel()

    assert effects(running.result()) == {"c0": "cancelled", "c1": "cancelled"}
    assert world.log.lines == []


class SlowPolicy(FakePolicy):
    """Judges a command that takes long to analyse."""

    def __init__(self) -> None:
        super().__init__()
        self.judging, self.over, self.judged = threading.Event(), threading.Event(), threading.Event()

    def review(self, **asked: Any) -> FakeReview:
        self.judging.set()
        self.over.wait(10)
        self.judged.set()
        return super().review(**asked)


async def test_a_cancel_ends_the_wait_for_the_rules(workspace: Path) -> None:
    policy = SlowPolicy()
    world = make_world(workspace, policy=policy)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.run(call("c0", "write", path="a"), call("c1", "write", path="b")))
        await off_loop(lambda: policy.judging.wait(10))
        world.rounds.cancel()
    was_judged = policy.judged.is_set()
    policy.over.set()

    assert not was_judged
    assert effects(running.result()) == {"c0": "cancelled", "c1": "cancelled"}
    assert world.log.lines == []


class StoringPolicy(FakePolicy):
    """Stores answers in a thread, as the real one does."""

    async def record(self, request: PermissionRequest, verdict: Verdict, *, edited: bool = False) -> None:
        await off_loop(lambda: None)
        await super().record(request, verdict, edited=edited)


async def test_answers_that_come_with_the_cancel_are_stored(workspace: Path) -> None:
    policy = StoringPolicy()
    approver = ScriptedApprover(deny=["c0"], before=lambda _: world.rounds.cancel())
    world = make_world(workspace, policy=policy, approver=approver)

    batch = await world.run(call("c0", "write", path="a"), call("c1", "write", path="b"))

    assert [request.call_id for request, _ in policy.recorded] == ["c0", "c1"]
    assert effects(batch) == {"c0": "denied", "c1": "cancelled"}
    assert world.log.lines == []


async def test_a_cancel_while_previews_are_computed_asks_nothing(workspace: Path) -> None:
    world = make_world(workspace)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.run(call("c0", "write", path="a", how="preview-hangs")))
        for _ in range(20):
            await asyncio.sleep(0)
        world.rounds.cancel()

    assert effects(running.result()) == {"c0": "cancelled"}
    assert world.approver.asked == []


async def test_a_cancel_while_a_hook_thinks_ends_the_round(workspace: Path) -> None:
    thinking = asyncio.Event()

    class Slow(Hooks):
        async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
            thinking.set()
            await asyncio.Event().wait()
            return BeforeCall()

    world = make_world(workspace, hooks=Slow())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.run(call("c0", path="a"), call("c1", path="b")))
        await thinking.wait()
        world.rounds.cancel()

    assert effects(running.result()) == {"c0": "cancelled", "c1": "cancelled"}


async def test_a_deaf_tool_does_not_hold_the_cancel(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await cancelled_at(world, "c0", call("c0", "faulty", how="deaf"))
    world.log.gate("deaf").set()
    await asyncio.sleep(0)

    assert effects(batch) == {"c0": "cancelled"}


async def test_pr_02_a_late_result_is_dropped(workspace: Path) -> None:
    world = make_world(workspace)

    await cancelled_at(world, "c0", call("c0", "faulty", how="deaf"))
    before = len(world.sink.events)
    world.log.gate("deaf").set()
    for _ in range(10):
        await asyncio.sleep(0)

    assert len(world.sink.events) == before
    assert len(world.journal.outcomes()) == 1


async def test_cancelling_the_task_itself_goes_through_and_lets_a_write_be_whole(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["write"]))
    world.log.gate("c0")

    running = asyncio.ensure_future(world.run(call("c0", "write", path="a", text="whole")))
    await world.log.arrival("c0").wait()
    running.cancel()
    await asyncio.sleep(0)
    world.log.gate("c0").set()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert (workspace / "a").read_text() == "whole"


async def test_a_cancelled_task_stops_its_command(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["bash"]))

    running = asyncio.ensure_future(world.run(call("c0", "bash", command="sleep")))
    await world.log.arrival("c0").wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert world.log.lines == ["start c0"]


async def test_a_stopped_call_tells_its_panel_how_long_it_ran(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["bash"]))

    batch = await cancelled_at(world, "c0", call("c0", "bash", command="sleep"))

    assert isinstance(outcome(batch, "c0").result.data["ended_after_s"], float)

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_tui.executor.context import ToolRoundCtx
from agent_tui.executor.hooks import BeforeCall
from agent_tui.executor.strategy import (
    ParallelToolRoundExecutor,
    SerialToolRoundExecutor,
    ToolRoundExecutor,
)
from agent_tui.protocol.events import ToolDenied, ToolFinished, ToolStarted
from agent_tui.protocol.permissions import Decision, PermissionDecision, PermissionRequest, Scope, Verdict
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.testing import RecordingJournal
from tests.support.round_world import FakePolicy, Hooks, call, make_world

HOWS = ["", "tool-error", "exception", "exit", "cancelled", "group", "error-result", "permissions"]
ROUNDS = 150


class Whims:
    """Answers at random: allows, denies, edits, forgets, allows half, raises."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.allowed: set[tuple[str, str]] = set()

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        await asyncio.sleep(0)
        if self.rng.random() < 0.05:
            raise OSError("lost")
        return {r.call_id: self._verdict(r) for r in requests if self.rng.random() < 0.9}

    def _verdict(self, request: PermissionRequest) -> Verdict:
        decisions = tuple(
            PermissionDecision(
                permission_id=p.id,
                decision=self.rng.choice([Decision.ALLOW, Decision.ALLOW, Decision.DENY]),
                scope=self.rng.choice([Scope.ONCE, Scope.ONCE, Scope.SESSION]),
                pattern=p.pattern,
            )
            for p in request.permissions
        )
        edit = {"command": "echo edited"} if request.tool == "bash" and self.rng.random() < 0.2 else None
        verdict = Verdict(call_id=request.call_id, permissions=decisions, edited_arguments=edit)
        if all(decision.decision is Decision.ALLOW for decision in decisions):
            self.allowed.add((request.call_id, request.args_sha256))
        return verdict


class Chaos:
    """Runs, denies, forgets and repeats calls in any order, and sometimes fails."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    async def execute_round(self, ctx: ToolRoundCtx, calls: Sequence[ToolCall]) -> None:
        for item in self.rng.sample(list(calls), k=len(calls)):
            match self.rng.randrange(8):
                case 0:
                    await ctx.deny(item, "chaos")
                case 1:
                    continue
                case 2 if self.rng.random() < 0.3:
                    raise ValueError("chaos")
                case _:
                    await ctx.run(item)


def random_call(rng: random.Random, number: int) -> ToolCall:
    call_id = rng.choice([f"c{number}", f"c{number}", "twin", ""])
    match rng.randrange(9):
        case 0:
            return call(call_id, "nonsense_tool")
        case 1:
            return ToolCall(
                call_id=call_id, name="write", arguments_json=rng.choice(["{", "[]", '{"path": 1}'])
            )
        case 2 | 3:
            return call(call_id, "faulty", how=rng.choice(HOWS))
        case 4:
            return call(call_id, "bash", command=rng.choice(["ls", "echo > out", "cd sub", "rm x"]))
        case 5 | 6:
            how = rng.choice(["", "", "impossible", "late-change", "preview-fault"])
            return call(call_id, rng.choice(["write", "wriet"]), path=rng.choice("ab"), text="x", how=how)
        case _:
            return call(call_id, rng.choice(["read", "task", "mcp__server__probe"]), path=rng.choice("ab"))


def random_executor(rng: random.Random) -> ToolRoundExecutor:
    return rng.choice(
        [
            ParallelToolRoundExecutor(),
            SerialToolRoundExecutor(),
            SerialToolRoundExecutor(atomic=True),
            Chaos(rng),
        ]
    )


def random_hooks(rng: random.Random) -> Hooks | None:
    if rng.random() < 0.6:
        return None
    before = {f"c{n}": BeforeCall(block="no") for n in range(8) if rng.random() < 0.2}
    return Hooks(before, fail=rng.choice(["", "", "before", "after"]))


async def one_round(rng: random.Random, workspace: Path) -> None:
    whims = Whims(rng)
    failing = [kind for kind in ("approval_requested", "approval_decided", "outcome") if rng.random() < 0.08]
    world = make_world(
        workspace,
        approver=whims,
        policy=FakePolicy(
            deny=rng.sample(["bash", "write"], k=rng.choice([0, 0, 1])),
            allow=rng.sample(["bash", "write", "task"], k=rng.choice([0, 1])),
            audit_fails=rng.random() < 0.05,
        ),
        journal=RecordingJournal(fail=failing),
        executor=random_executor(rng),
        hooks=random_hooks(rng),
        preview_limit_s=0.5,
    )
    calls = [random_call(rng, number) for number in range(rng.randrange(1, 9))]
    cancel_after = rng.choice([None, None, rng.randrange(30)])

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(world.run(*calls))
        if cancel_after is not None:
            for _ in range(cancel_after):
                await asyncio.sleep(0)
            world.rounds.cancel()
    batch = running.result()

    ids = [outcome.tool_use_id for outcome in batch.outcomes]
    assert len(ids) == len(set(ids)) == len(calls)
    assert all(ids)
    for given, outcome in zip(calls, batch.outcomes, strict=True):
        assert given.call_id in ("", outcome.tool_use_id) or outcome.tool_use_id.startswith(given.call_id)
    ends = Counter(e.call_id for e in world.sink.events if isinstance(e, ToolFinished | ToolDenied))
    assert ends == Counter(ids)
    written = [outcome.tool_use_id for outcome in world.journal.outcomes()]
    assert "outcome" in failing or sorted(written) == sorted(ids)
    started = {event.call_id for event in world.sink.events if isinstance(event, ToolStarted)}
    ran = {o.tool_use_id for o in batch.outcomes if o.effect in ("ran", "failed", "timeout")}
    assert ran <= started


@pytest.mark.parametrize("seed", range(6))
async def test_item_01_no_round_however_mad_leaves_an_id_without_its_one_answer(
    workspace: Path, seed: int
) -> None:
    rng = random.Random(seed)
    (workspace / "sub").mkdir()

    for _ in range(ROUNDS // 6):
        await one_round(rng, workspace)


@pytest.mark.parametrize("seed", range(4))
async def test_p11_nothing_runs_that_needs_an_approval_it_did_not_get(workspace: Path, seed: int) -> None:
    from agent_tui.executor.state import digest

    rng = random.Random(1000 + seed)
    for _ in range(20):
        whims = Whims(rng)
        world = make_world(workspace, approver=whims)
        calls = [
            call(f"c{n}", rng.choice(["write", "bash"]), path=f"f{n}", command=rng.choice(["ls", "rm x"]))
            for n in range(6)
        ]

        await world.run(*calls)

        for event in world.sink.events:
            if isinstance(event, ToolStarted) and "edited" not in event.arguments_json:
                assert (event.call_id, digest(event.arguments_json)) in whims.allowed

"""What a status line and an editor are told of how full the context is, and of the sandbox."""

import asyncio
import threading
from pathlib import Path

import pytest

from agent_tui.protocol.errors import StreamCut
from agent_tui.protocol.events import AssistantFinished, Compacted, Event, Usage
from agent_tui.protocol.messages import TokenUsage
from agent_tui.providers.scripted import Reply, text
from agent_tui.run import ground
from agent_tui.run.acp import HostedCore
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.sandbox.interface import NoSandbox, Sandbox
from agent_tui.toolkit.testing import ScriptedApprover
from tests.support.core_world import CoreWorld, open_core


def costly(words: str, input_tokens: int) -> Reply:
    return text(words).costing(TokenUsage(input_tokens=input_tokens, output_tokens=5))


def context(world: CoreWorld) -> int:
    return world.core.status().context_tokens


async def test_the_meter_falls_when_the_context_is_compacted(workspace: Path) -> None:
    replies = [costly("petal " * 9_000, 150_000), costly("leaf " * 9_000, 170_000), text("what was said")]
    async with open_core(workspace, *replies) as world:
        await world.core.run_turn("one")
        await world.core.run_turn("two")
        full = context(world)
        await world.core.talk.compact("")

        assert full == 170_005
        assert len(world.of(Compacted)) == 1
        assert context(world) < full // 2


async def test_a_server_that_counts_nothing_leaves_an_estimate(workspace: Path) -> None:
    async with open_core(workspace, costly("counted", 9_000), text("petals").costing(TokenUsage())) as world:
        await world.core.run_turn("one")
        await world.core.run_turn("two")

        assert 9_005 < context(world) < 9_100


async def test_the_tokens_of_a_lost_request_are_no_context(workspace: Path) -> None:
    lost = text("half").counting(TokenUsage(input_tokens=150_000)).cut(StreamCut("gone"), after=0)
    async with open_core(workspace, lost, costly("whole", 150_000)) as world:
        await world.core.run_turn("one")

        told = [event.context_tokens for event in world.of(Usage)]
        assert len(told) == 2
        assert told[0] < 20_000
        assert context(world) == told[1] == 150_005


async def test_the_context_counts_a_reply_when_it_is_told(workspace: Path) -> None:
    seen: list[int] = []
    async with open_core(workspace, costly("whole", 30_000)) as world:

        async def listen(event: Event) -> None:
            if isinstance(event, AssistantFinished):
                seen.append(context(world))

        world.core.bind(sink=listen, approver=ScriptedApprover(), ask=None)
        await world.core.run_turn("one")

    assert seen == [30_005]


async def test_an_editor_gets_every_sentence_once_and_loses_none(workspace: Path) -> None:
    async with open_core(workspace) as world:
        world.core._notices = ["of the start"]
        world.core._session.record.notices.extend(["first", "second"])
        hosted = HostedCore(world.core)

        told = [list(hosted.notices())]
        world.core._session.record.notices.extend(["third"])
        told.append(list(hosted.notices()))

    assert told == [["of the start", "first", "second"], ["third"]]


async def test_status_never_waits_for_the_search_of_a_sandbox(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()

    def slow(*_: object, **__: object) -> Sandbox:
        may_end.wait(10)
        return NoSandbox("none was found")

    monkeypatch.setattr(ground, "probe", slow)
    starting = asyncio.create_task(assemble(RunOptions(provider="offline"), workspace, with_screen=True))

    await asyncio.wait({starting}, timeout=1)
    started_early = starting.done()
    may_end.set()
    core = await starting
    status = core.status()
    await core.aclose()

    assert (started_early, status.sandbox_reason) == (False, "none was found")

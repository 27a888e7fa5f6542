import time
from pathlib import Path

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.events import (
    RoundStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from agent_tui.protocol.messages import TokenUsage
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import ToolCall
from agent_tui.ui.transcript.document import BODY_ROWS
from agent_tui.ui.transcript.paint import STRIP_ROWS
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage

TURNS, EVERY = 2_000, 500
OUTPUT = "\n".join(f"tests/test_{n}.py passed" for n in range(18))


async def one_turn(here: Stage, number: int) -> None:
    turn, call = f"t{number}", f"c{number}"
    result = DisplayResult(content=OUTPUT, full_length=len(OUTPUT), full_lines=18, summary="18 lines")
    for event in (
        TurnStarted(turn_id=turn, prompt=f"step {number}"),
        TextDelta(turn_id=turn, text=f"Looking at **step {number}**."),
        RoundStarted(turn_id=turn, round_index=0, calls=(ToolCall(call_id=call, name="bash"),)),
        ToolStarted(turn_id=turn, call_id=call, tool="bash", display_name="Bash", title=f"pytest {number}"),
        ToolFinished(
            turn_id=turn,
            call_id=call,
            tool="bash",
            display_name="Bash",
            title=f"pytest {number}",
            is_error=False,
            output=OUTPUT,
            elapsed_s=0.1,
            display=result,
        ),
        TurnFinished(turn_id=turn, stop_reason="end_turn", usage=TokenUsage()),
    ):
        await here.backend.emit(event)


async def key_cpu_s(here: Stage) -> float:
    """The CPU of a key until it is on screen, the best of a few."""
    costs: list[float] = []
    for _ in range(7):
        began = time.process_time()
        await here.press("x")
        costs.append(time.process_time() - began)
    here.app.prompt.load_text("")
    return min(costs)


async def test_tu_22_keys_and_widgets_cost_the_same_after_2000_turns(workspace: Path) -> None:
    async with stage(workspace) as here:
        costs, widgets = list[float](), list[int]()
        for number in range(TURNS):
            await one_turn(here, number)
            if number % EVERY == EVERY - 1:
                await here.pilot.pause()
                costs.append(await key_cpu_s(here))
                widgets.append(len(here.app.query("*")))

        transcript = here.app.transcript
        assert len(transcript.document) >= 3 * TURNS
        assert len(set(widgets)) == 1
        assert max(costs[1:]) < 2 * costs[0] + 0.02
        assert transcript._painter._strips.spent <= STRIP_ROWS


async def test_long_replies_leave_no_more_rows_behind_than_a_few_screens_need(workspace: Path) -> None:
    async with stage(workspace) as here:
        transcript = here.app.transcript
        for _ in range(6):
            index = transcript.stream_start("assistant")
            transcript.stream_append(index, "\n".join(f"- item {n} of a long list" for n in range(2_500)))
            transcript.flush()
            transcript.stream_end(index)
            await here.pilot.pause()
        kept = [body for body, _ in transcript.document._bodies._kept.values()]

        assert sum(body.height for body in kept) <= BODY_ROWS
        assert transcript.document.heights.total > 6 * 2_500


async def test_tu_22_a_session_of_2000_turns_opens_at_its_end_at_once(workspace: Path) -> None:
    blocks: list[ReplayBlock] = []
    for number in range(TURNS):
        blocks.append(ReplayBlock("user", f"step {number}"))
        blocks.append(ReplayBlock("assistant", f"Looking at **step {number}**.\n\n- one\n- two"))
        blocks.append(ReplayBlock("tool", OUTPUT, call_id=f"c{number}", tool="bash", display_name="Bash"))
    async with stage(workspace, backend=FakeBackend(workspace, blocks=blocks)) as here:
        began = time.process_time()
        here.app.transcript.load(blocks)
        await here.pilot.pause()
        spent = time.process_time() - began
        shown = "\n".join(
            strip.text for strip in here.app.transcript.render_lines(here.app.transcript.size.region)
        )

    assert spent < 2.0
    assert f"step {TURNS - 1}" in shown

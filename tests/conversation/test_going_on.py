from pathlib import Path

import pytest

from agent_tui.protocol.events import ApprovalDecided, ApprovalRequested, RoundStarted
from agent_tui.protocol.messages import TokenUsage
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.providers.scripted import calls, text, use
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.ui.decisions import decision_line
from tests.support.core_world import configure, open_core

PRICES = "model.facts.script = {input_usd_per_mtok = 5.0, output_usd_per_mtok = 25.0}\n"
USED = TokenUsage(input_tokens=100_000)


async def one_turn(workspace: Path, used: TokenUsage) -> None:
    async with open_core(workspace, text("Petals open.").costing(used)) as world:
        await world.core.run_turn("hello")


async def test_a_session_that_goes_on_counts_on_from_what_it_has_used(tmp_path: Path) -> None:
    configure(PRICES)
    await one_turn(tmp_path, USED)

    async with open_core(tmp_path, continue_last=True) as again:
        status = again.core.status()

        assert (status.input_tokens, status.cost_usd) == (100_000, pytest.approx(0.5))
        assert again.core.agent.spending.usage == TokenUsage()  # the caps are those of this run


@pytest.mark.parametrize(("used", "cost_usd"), [(USED, None), (TokenUsage(), 0.0)])
async def test_only_what_was_counted_makes_a_price_unknown(
    tmp_path: Path, used: TokenUsage, cost_usd: float | None
) -> None:
    await one_turn(tmp_path, used)

    async with open_core(tmp_path, continue_last=True) as again:
        status = again.core.status()

        assert (status.input_tokens, status.cost_usd) == (used.input_tokens, cost_usd)


@pytest.mark.parametrize(("goes_on", "tries"), [(False, 1), (True, 0)])
async def test_a_session_that_goes_on_hears_of_the_missing_model_only(
    tmp_path: Path, goes_on: bool, tries: int
) -> None:
    await one_turn(tmp_path, USED)

    core = await assemble(RunOptions(continue_last=goes_on), tmp_path, with_screen=True)
    told = [text for text in core.notices() if "offline" in text]
    await core.aclose()

    assert [text.split()[0] for text in told] == ["No", *["Try"] * tries]


async def test_a_round_is_shown_again_as_it_was_shown_live(workspace: Path) -> None:
    asked: dict[str, PermissionRequest] = {}
    verdicts: list[Verdict] = []
    calls_of_round = calls(
        use("write", {"file_path": "petals.txt", "content": "open"}, call_id="c1"),
        use("nothing_of_that_name", {}, call_id="c2"),
        use("read", {"file_path": "petals.txt"}, call_id="c3"),
    )
    async with open_core(workspace, calls_of_round, text("Done.")) as world:
        await world.core.run_turn("go")
        for event in world.of(ApprovalRequested):
            asked.update({request.call_id: request for request in event.requests})
        verdicts += [verdict for event in world.of(ApprovalDecided) for verdict in event.verdicts]
        begun = [call.call_id for event in world.of(RoundStarted) for call in event.calls]

    async with open_core(workspace, continue_last=True) as again:
        blocks = await again.core.replay()

    live = [decision_line(asked.get(verdict.call_id), verdict) for verdict in verdicts]
    assert begun == ["c1", "c2", "c3"]
    assert [block.call_id for block in blocks if block.kind == "tool"] == begun
    assert (
        [block.text for block in blocks if block.kind == "decision"]
        == live
        == ["allowed once Write: petals.txt"]
    )
    assert [block.kind for block in blocks] == ["user", *["tool"] * 3, "decision", "assistant"]

from pathlib import Path

import pytest

from agent_tui.protocol.messages import TokenUsage
from agent_tui.providers.scripted import text
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

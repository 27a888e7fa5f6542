"""Stops a turn that goes too far: rounds, requests, tokens, money. Asks before it does, when somebody is there."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from agent_tui.agent.limits import Limits, Spending, total_tokens
from agent_tui.agent.teller import Teller
from agent_tui.agent.turn import Turn
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.tools import TurnStop
from agent_tui.providers.base import ModelInfo

AskContinue = Callable[[str], Awaitable[bool]]
"""Asks the person whether to go on; the text says why the turn paused, the question is the asker's."""


@dataclass
class Allowance:
    """Watches the caps of one agent. A cap that the person lifts is lifted by its own size again.

    `shared` says that the spending is the main agent's, whose caps hold for all of its sub-agents.
    """

    teller: Teller
    limits: Limits = field(default_factory=Limits)
    spending: Spending = field(default_factory=Spending)
    ask: AskContinue | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        if not self.shared:
            self.start()

    def start(self) -> None:
        """Take over the caps of `limits` afresh."""
        self.spending.budget_usd = self.limits.max_budget_usd
        self.spending.budget_tokens = self.limits.max_tokens

    async def reached(self, turn: Turn, info: ModelInfo) -> TurnStop | None:
        """Give the reason to end the turn before its next request, or None. Raises TurnStopped, AgentTuiError."""
        limits = self.limits
        if turn.rounds_allowed and turn.rounds >= turn.rounds_allowed:
            rounds = "1 round" if turn.rounds == 1 else f"{turn.rounds} rounds"
            if not await self.go_on(turn, f"This turn has run {rounds} of tool calls, as many as it may."):
                return "round_limit"
            turn.rounds_allowed += limits.max_rounds
        used, budget = total_tokens(self.spending.usage), self.spending.budget_tokens
        if budget and used >= budget:
            if not await self.go_on(turn, f"{used:,} tokens of {budget:,} are used."):
                return "budget"
            self.spending.budget_tokens = used + limits.max_tokens
        return await self._money_reached(turn, info)

    async def go_on(self, turn: Turn, why: str) -> bool:
        """Ask whether to go on; without anybody to ask the answer is no. Raises TurnStopped."""
        if self.ask is None:
            await self.teller.notice(turn, why)
            return False
        return await turn.switch.run(partial(self.ask, why))

    async def _money_reached(self, turn: Turn, info: ModelInfo) -> TurnStop | None:
        spent, step, budget = self.spending.usd, self.limits.max_budget_usd, self.spending.budget_usd
        if budget is None or step is None:
            return None
        if info.input_usd_per_mtok is None or info.output_usd_per_mtok is None or spent is None:
            raise AgentTuiError(
                f"The price of {info.name!r} is not known, so a budget in USD cannot be kept; "
                "limit tokens instead, or set its price."
            )
        if spent < budget:
            return None
        if not await self.go_on(turn, f"${spent:.2f} of ${budget:.2f} are spent."):
            return "budget"
        self.spending.budget_usd = spent + step
        return None

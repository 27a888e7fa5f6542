"""How far a turn may go, and what it has cost."""

from dataclasses import dataclass

from agent_tui.protocol.messages import TokenUsage
from agent_tui.providers.base import Effort, ModelInfo
from agent_tui.providers.models import cost_usd

MAX_ROUNDS = 64
LOOP_REPEATS = 3


@dataclass(frozen=True)
class Limits:
    """Caps of a turn and of the session; 0 (None for money) means no cap.

    `max_rounds` is per turn and counts only rounds with tools, `max_tokens` and `max_budget_usd` are for what the
    whole session has used; reaching one asks to go on. `max_output_tokens` limits one reply. `loop_repeats` is the number of equal rounds in a
    row that trips the loop guard.
    """

    max_rounds: int = MAX_ROUNDS
    max_budget_usd: float | None = None
    max_tokens: int = 0
    max_output_tokens: int = 0
    loop_repeats: int = LOOP_REPEATS
    effort: Effort = ""


def total_tokens(usage: TokenUsage) -> int:
    """Add up every token that was sent or received."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens


class Spending:
    """What a session has used so far, its sub-agents included, and how much it may use.

    `usd` turns to None for good once a price was not known. The budgets are those in force: the caps of the limits,
    raised each time the person lets it go on; None and 0 mean no cap.
    """

    def __init__(self) -> None:
        self.usage = TokenUsage()
        self.usd: float | None = 0.0
        self.budget_usd: float | None = None
        self.budget_tokens = 0

    def add(self, usage: TokenUsage, info: ModelInfo) -> float | None:
        """Count one request and give its price in USD, None when not known."""
        self.usage = self.usage + usage
        price = cost_usd(usage, info)
        self.usd = None if price is None or self.usd is None else self.usd + price
        return price

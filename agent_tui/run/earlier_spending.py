"""What a session that goes on has used before: the counts of its recorded replies, at the prices of now."""

from collections.abc import Mapping

from agent_tui.agent.limits import Spending
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.messages import AssistantMessage, TokenUsage
from agent_tui.providers.models import ModelTable, load_table


class EarlierSpending:
    """Adds up replies one by one: above a long prompt a request has other prices, so a sum could not be priced.

    `facts` are the person's own rows of the table of models. The price is not known once one reply's is not.
    """

    def __init__(self, facts: Mapping[str, JsonObject]) -> None:
        self.spending = Spending()
        self._facts = facts
        self._table: ModelTable | None = None  # read with the first reply: most sessions are new

    def add(self, reply: AssistantMessage) -> None:
        """Count one recorded reply. One without counts (imported, offline) says nothing about money either."""
        if reply.usage == TokenUsage():
            return
        if self._table is None:
            self._table = load_table(self._facts)
        self.spending.add(reply.usage, self._table.facts(reply.provider, reply.model).info)

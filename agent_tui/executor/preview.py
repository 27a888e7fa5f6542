"""Computes what the person will see, before anything is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.executor import answers
from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.state import Refusal, RoundCall
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.text import display_text

PREVIEW_LIMIT_S = 10.0


@dataclass(frozen=True)
class Previewer:
    """Shows what calls would do. Each preview has a time limit of its own."""

    tools: ToolSource
    workers: Workers
    stop: StopSignal
    limit_s: float = PREVIEW_LIMIT_S

    async def show(self, items: Sequence[RoundCall]) -> list[tuple[RoundCall, Refusal]]:
        """Compute previews in order and give the calls that turned out impossible.

        A call that is not asked is looked at too when one behind it is: what it will have done is where the
        later preview starts.
        """
        last = max((index for index, item in enumerate(items) if item.asking), default=-1)
        impossible: list[tuple[RoundCall, Refusal]] = []
        for item in items[: last + 1]:
            if self.stop.pressed:
                break
            refusal = await self.show_one(item)
            if refusal is not None and item.asking:
                impossible.append((item, refusal))
        return impossible

    async def show_one(self, item: RoundCall) -> Refusal | None:
        """Compute one preview; give why the call cannot work, or None."""
        try:
            settled = await self.workers.run(
                self.tools.preview(item.call.name, item.call.arguments_json, item.context),
                limit_s=self.limit_s,
                stop=self.stop,
            )
        except ToolError as error:
            return Refusal(str(error), "invalid")
        except Exception as error:  # foreign code: the person is told and decides without a preview
            item.preview = display_text(f"There is no preview: {answers.fault(item.call.name, error)}")
            return None
        item.preview = settled.value
        if settled.how == "timeout":
            item.preview = display_text(f"There is no preview: it took longer than {self.limit_s:g} s.")
        return None

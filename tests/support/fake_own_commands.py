from collections.abc import Awaitable, Callable, Sequence

from agent_tui.protocol.tools import TurnResult
from agent_tui.ui.own_commands import OwnCommand


class FakeOwnCommands:
    """Lists `commands`; running one is a turn of the text `name: args`."""

    def __init__(self, turn: Callable[[str], Awaitable[TurnResult]]) -> None:
        self._turn = turn
        self.commands: list[OwnCommand] = []
        self.wrong: list[str] = []

    async def all(self) -> Sequence[OwnCommand]:
        return list(self.commands)

    async def problems(self) -> Sequence[str]:
        return self.wrong

    async def run(self, name: str, args: str) -> TurnResult:
        return await self._turn(f"{name}: {args}")

"""The person's own commands and skills as slash commands: they join the list of commands and begin turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import columns

if TYPE_CHECKING:
    from agent_tui.protocol.tools import TurnResult
    from agent_tui.ui.commands.registry import Registry

_NONE = (
    "There are no commands of files. They live in .agents/commands/NAME.md and ~/.config/agent-tui/commands."
)


@dataclass(frozen=True)
class OwnCommand:
    """One command of the person's. `name` has no slash; `longer` is its name when another has that one already.

    `source` says where it comes from, such as "project" or "skill of yours".
    """

    name: str
    longer: str
    summary: str
    hint: str
    source: str


class OwnCommands(Protocol):
    """The commands that files describe. Nothing here blocks the event loop."""

    async def all(self) -> Sequence[OwnCommand]:
        """List them, nearest first, each name once."""
        ...

    async def problems(self) -> Sequence[str]:
        """Give a sentence for each file that is not usable or not quite right."""
        ...

    async def run(self, name: str, args: str) -> TurnResult:
        """Run its shell lines, behind the same approval as the model's, and the turn that its text begins.

        When it cannot, or there is none of that name (any more), the turn fails and what was typed goes back.
        """
        ...


class OwnCommandDesk:
    """Keeps the commands of files in the program's list. One that another hides keeps its longer name, and that is said."""

    def __init__(self, registry: Registry, commands: OwnCommands) -> None:
        self._registry = registry
        self._commands = commands
        self._known: dict[OwnCommand, Command] = {}
        self._said: set[str] = set()
        registry.register(
            Command("commands", "commands and skills of files, and what is wrong with them", self._list)
        )

    async def refresh(self) -> list[str]:
        """Look at the files again; give what the person should know and was not told yet."""
        found = await self._commands.all()
        self._registry.forget(list(self._known.values()))
        self._known = {}
        news: list[str] = []
        for own in found:
            command = self._command(own, own.name)
            if self._registry.register(command):
                command = self._command(own, own.longer)
                again = self._registry.register(command)
                news.append(
                    again
                    or f"/{own.name} is taken: the command of that name ({own.source}) is /{own.longer}."
                )
                if again:
                    continue
            self._known[own] = command
        fresh = [text for text in news if text not in self._said]
        self._said.update(fresh)
        return fresh

    async def _list(self, host: CommandHost, _args: str) -> None:
        """Look at the files again and list what they give."""
        said = await self.refresh()
        rows = [(f"/{command.name}", command.told) for command in self._known.values()]
        lines = [columns(rows)] if rows else [_NONE]
        host.notice(
            "info", "\n".join([*lines, *(f"! {text}" for text in [*said, *await self._commands.problems()])])
        )

    def _command(self, own: OwnCommand, name: str) -> Command:
        async def run(host: CommandHost, args: str) -> None:
            host.begin_turn(command, args, lambda: self._commands.run(own.longer, args))

        command = Command(name, own.summary, run, usage=own.hint, source=own.source)
        return command

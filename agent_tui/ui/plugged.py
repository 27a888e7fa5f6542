"""What extensions offer to the person: their commands, questions, notices, status texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.commands.registry import Command, CommandHost, Level, Registry

if TYPE_CHECKING:
    from agent_tui.ui.house import Listing


@dataclass(frozen=True)
class PluggedCommand:
    """A slash command of an extension; `name` has no slash."""

    name: str
    description: str
    needs_args: bool
    extension: str


class Person(Protocol):
    """The person as extensions see them."""

    async def confirm(self, title: str, message: str, *, yes: str, no: str, danger: bool) -> bool: ...

    def notify(self, level: Level, text: str) -> None: ...

    def submit(self, text: str) -> None: ...

    def status_changed(self) -> None: ...

    def commands_changed(self) -> None: ...


class Extensions(Protocol):
    """The extensions of this run. Nothing here blocks the event loop."""

    def bind(self, person: Person) -> None:
        """Say who answers and who hears."""
        ...

    def commands(self) -> Sequence[PluggedCommand]:
        """List the commands there are now."""
        ...

    async def run(self, name: str, args: str) -> str:
        """Run a command to its end; give a sentence when it failed, else ""."""
        ...

    def listing(self) -> Listing:
        """List the extensions with what they offer, and what is wrong."""
        ...

    async def restart(self, name: str) -> str:
        """Start an extension anew; give a sentence."""
        ...

    def log(self, name: str) -> str:
        """Give the last lines an extension wrote beside its protocol, or a sentence."""
        ...


class DeskHost(Protocol):
    """What extensions need of the program that a person sits before."""

    async def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> bool: ...

    def notice(self, level: Level, text: str) -> None: ...

    def refresh_status(self) -> None: ...


class ExtensionDesk:
    """The person before the program, for extensions; keeps their commands in the program's list.

    `send` queues a message for after the turn, `attend` tells a person who looks elsewhere, `joined` is called when
    there are other commands.
    """

    def __init__(
        self,
        host: DeskHost,
        extensions: Extensions,
        *,
        registry: Registry,
        send: Callable[[str], None],
        attend: Callable[[str], None],
        joined: Callable[[], None],
    ) -> None:
        self._host = host
        self._extensions = extensions
        self._registry = registry
        self._send, self._attend, self._joined = send, attend, joined
        self._known: dict[PluggedCommand, Command | None] = {}
        extensions.bind(self)
        self.commands_changed()

    async def confirm(self, title: str, message: str, *, yes: str, no: str, danger: bool) -> bool:
        """Ask yes or no."""
        self._attend("A question waits for your answer")
        return await self._host.confirm(title, message, yes=yes, no=no, danger=danger)

    def notify(self, level: Level, text: str) -> None:
        """Show a text in the conversation."""
        self._host.notice(level, text)

    def submit(self, text: str) -> None:
        """Queue a message for after the turn; it is never read as a command."""
        self._send(text)

    def status_changed(self) -> None:
        """Show the new texts in the status line."""
        self._host.refresh_status()

    def commands_changed(self) -> None:
        """Follow what is offered now; a command whose name is taken is left out, which is said once."""
        offered = self._extensions.commands()
        gone = [one for one in self._known if one not in offered]
        self._registry.forget([command for one in gone if (command := self._known.pop(one)) is not None])
        new = [one for one in offered if one not in self._known]
        for one in new:
            command = self._command(one)
            refused = self._registry.register(command)
            self._known[one] = None if refused else command
            if refused:
                self._host.notice("warning", refused)
        if gone or new:
            self._joined()

    def _command(self, offered: PluggedCommand) -> Command:
        async def run(_host: CommandHost, args: str) -> None:
            if failed := await self._extensions.run(offered.name, args):
                raise AgentTuiError(failed)

        return Command(
            offered.name,
            offered.description,
            run,
            needs_args=offered.needs_args,
            while_busy=True,
            source=f"extension {offered.extension}",
        )

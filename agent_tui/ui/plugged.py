"""What extensions offer to the person: their commands, questions, notices, status texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.commands.registry import Command, CommandHost, Level
from agent_tui.ui.screens.confirm import Confirm

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp
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


class ExtensionDesk:
    """The person before the screen, for extensions; keeps their commands in the program's list."""

    def __init__(self, app: AgentApp, extensions: Extensions) -> None:
        self._app = app
        self._extensions = extensions
        self._known: set[tuple[str, str]] = set()
        extensions.bind(self)
        self.commands_changed()

    async def confirm(self, title: str, message: str, *, yes: str, no: str, danger: bool) -> bool:
        """Ask yes or no."""
        self._app.attention("A question waits for your answer")
        screen = Confirm(self._app.keys, title, message, yes=yes, no=no, danger=danger)
        return bool(await self._app.actions.ask_screen(screen))

    def notify(self, level: Level, text: str) -> None:
        """Show a text in the conversation."""
        self._app.notice(level, text)

    def submit(self, text: str) -> None:
        """Queue a message for after the turn; it is never read as a command."""
        self._app.driver.send(text, after_turn=True)

    def status_changed(self) -> None:
        """Show the new texts in the status line."""
        self._app.refresh_status()

    def commands_changed(self) -> None:
        """Add the commands that are new; one whose name is taken is left out, which is said once."""
        before = len(self._known)
        for offered in self._extensions.commands():
            key = (offered.extension, offered.name)
            if key not in self._known:
                self._known.add(key)
                if refused := self._app.registry.register(self._command(offered)):
                    self._app.notice("warning", refused)
        if len(self._known) > before:
            self._app.completion.refresh_offers()  # the list may stand open already

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

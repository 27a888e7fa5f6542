"""The extensions of a run as the interface sees them."""

from collections.abc import Sequence

from agent_tui.extensions.plugged.host import Door, ExtensionHost
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.events import Event
from agent_tui.toolkit.extension import Level
from agent_tui.ui.house import Listing
from agent_tui.ui.plugged import Person, PluggedCommand


class SessionExtensions:
    """Implements `ui.plugged.Extensions`."""

    def __init__(self, host: ExtensionHost) -> None:
        self._host = host

    async def start(self, session_id: str, door: Door | None) -> list[str]:
        """Start all programs; with `door` wait for them and join their tools at once. Give what went wrong."""
        self._host.session_started(session_id)
        self._host.start()
        if door is None:
            return []
        try:
            await self._host.settled()
        except BaseException:
            await self._host.aclose()
            raise
        return [text for level, text in self._host.publish(door) if level != "info"]

    def news(self, door: Door) -> list[tuple[Level, str]]:
        """Join the tools that came since the last turn; give what a person should know."""
        return [*self._host.publish(door), *self._host.said()]

    def said(self) -> list[tuple[Level, str]]:
        """Take what extensions said while nobody was there to be shown it."""
        return self._host.said()

    def hear(self, event: Event) -> None:
        """Tell the extensions of an event."""
        self._host.hear(event)

    def session_started(self, session_id: str) -> None:
        """Tell the extensions that another session is open."""
        self._host.session_started(session_id)

    def statuses(self) -> tuple[str, ...]:
        """Give what extensions show in the status line."""
        return self._host.statuses()

    async def aclose(self) -> None:
        """End them all with what they started."""
        await self._host.aclose()

    def bind(self, person: Person) -> None:
        self._host.bind(person)

    def commands(self) -> Sequence[PluggedCommand]:
        return [
            PluggedCommand(command.name, command.description, command.needs_args, extension)
            for extension, command in self._host.commands()
        ]

    async def run(self, name: str, args: str) -> str:
        try:
            await self._host.run_command(name, args)
        except ToolError as error:
            return str(error)
        return ""

    def listing(self) -> Listing:
        rows = self._host.rows()
        return Listing(
            tuple((row.name, f"{row.offers} ({row.where})") for row in rows if row.offers),
            tuple(f"{row.name}: {row.where}: {row.problem}" for row in rows if row.problem),
        )

    async def restart(self, name: str) -> str:
        try:
            return await self._host.restart(name)
        except ToolError as error:
            return str(error)

    def log(self, name: str) -> str:
        try:
            return "\n".join(self._host.log(name)) or f"{name} wrote nothing beside its protocol."
        except ToolError as error:
            return str(error)

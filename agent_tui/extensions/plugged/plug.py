"""One extension as the program sees it, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from agent_tui.extensions.plugged.person import Voice
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.extension import ToolReply

if TYPE_CHECKING:  # the check of schemas, 5 ms
    from agent_tui.extensions.plugged.offers import Offer

State = Literal["starting", "ready", "ended", "off"]
"""`ended` starts again when something is wanted of it, `off` does not."""


@dataclass(frozen=True)
class Pace:
    """The limits in seconds: loading a file, the handshake and the whole end of a process, one `detail`, one event."""

    load_s: float = 5.0
    handshake_s: float = 5.0
    shutdown_s: float = 2.0
    detail_s: float = 1.0
    event_s: float = 30.0


class Plug(Protocol):
    """An extension that was loaded. `problem` is why it is not ready, "" when it is."""

    name: str
    origin: str
    where: str
    offer: Offer
    state: State
    problem: str

    async def run(self) -> None:
        """Live until cancelled, then end with all that was started."""
        ...

    async def given_up(self, problem: str) -> None:
        """Be off until it is restarted: `run` ended by a bug, and nobody may wait on. Then `run` is called again."""
        ...

    async def settled(self) -> None:
        """Wait until it is known what it offers, or that it offers nothing."""
        ...

    async def detail(self, tool: str, arguments: JsonObject) -> str:
        """Give the line for a call that has not begun; may raise anything."""
        ...

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ToolReply | ToolResult:
        """Run a tool. Raises ToolError; whatever else it raises is a fault of the extension."""
        ...

    async def command(self, name: str, args: str, voice: Voice) -> None:
        """Run a command to its end; may raise anything."""
        ...

    async def hear(self, event: JsonObject, voice: Voice) -> None:
        """Take an event; may raise anything."""
        ...

    async def restart(self) -> str:
        """Begin anew; give a sentence."""
        ...

    def log(self) -> list[str]:
        """Give the last lines of what it wrote beside the protocol, oldest first."""
        ...

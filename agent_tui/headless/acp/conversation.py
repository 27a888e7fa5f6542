"""What the protocol needs of an open conversation, and of whoever opens one."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_tui.protocol.events import EventSink
from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import TurnResult
from agent_tui.toolkit.context import Ask, TodoItem


@dataclass(frozen=True)
class ModeChoice:
    """A permission mode that the editor may offer."""

    mode_id: str
    name: str
    description: str


@dataclass(frozen=True)
class CommandChoice:
    """A slash command that the editor may offer; `hint` says what to type behind its name, "" for nothing."""

    name: str
    description: str
    hint: str = ""


@dataclass(frozen=True)
class ContextUse:
    """How full the context is, in tokens. `cost_usd` is the price of the session, None when it is not known."""

    used: int
    size: int
    cost_usd: float | None


@dataclass(frozen=True)
class StoredSession:
    """One session of the list. `changed_at` is a POSIX time in seconds."""

    session_id: str
    workspace: str
    title: str
    changed_at: float


class Conversation(Protocol):
    """One open session with its agent."""

    @property
    def session_id(self) -> str: ...

    @property
    def workspace(self) -> Path: ...

    @property
    def mode(self) -> str: ...

    def modes(self) -> Sequence[ModeChoice]: ...

    def set_mode(self, mode: str) -> None:
        """Switch the permission mode. Raises AgentTuiError for one that is not offered."""
        ...

    def bind(self, *, sink: EventSink, approver: Approver, ask: Ask) -> None: ...

    def notices(self) -> Sequence[str]:
        """Give the sentences for the person that were not given yet."""
        ...

    def todos(self) -> Sequence[TodoItem]: ...

    def context_use(self) -> ContextUse: ...

    async def replay(self) -> Sequence[ReplayBlock]: ...

    async def ready(self) -> None:
        """Wait for the MCP servers of the session, each at most its start time."""
        ...

    async def run_turn(self, text: str, *, beside: str, images: Sequence[ImageBlock]) -> TurnResult:
        """Run a turn; a text that names a command of files or a skill runs as that.

        `beside` goes along below the text, and nothing of it is a mention.
        """
        ...

    def cancel_turn(self) -> None: ...

    async def commands(self) -> Sequence[CommandChoice]: ...

    async def run_command(self, name: str, arguments: str) -> str | None:
        """Run a slash command of the program; None when there is none of that name. Raises AgentTuiError."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True)
class SessionOrder:
    """Which session is to be opened. `session_id` "" makes a new one; `mcp_config` is a JSON text of servers or ""."""

    workspace: Path
    session_id: str = ""
    add_dirs: tuple[Path, ...] = ()
    mcp_config: str = ""


OpenConversation = Callable[[SessionOrder], Awaitable[Conversation]]
ListSessions = Callable[[Path | None], Awaitable[Sequence[StoredSession]]]

"""What an extension registers with the program, and what its handlers get."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext

__all__ = [
    "BlockingContext",
    "CommandContext",
    "Extension",
    "JsonObject",
    "Level",
    "Reply",
    "ToolContext",
    "ToolError",
    "ToolReply",
    "ToolResult",
]

Level = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class ToolReply:
    """What a tool answers: `content` is for the model, the rest is for the screen.

    `detail` is one line beside the panel's title, `output` the panel's body (empty: the content), and `expanded` lets
    the panel start open; the person's own choice wins. With `is_error` the content says what went wrong.
    """

    content: str
    detail: str = ""
    output: str = ""
    expanded: bool = False
    is_error: bool = False


@dataclass(frozen=True)
class Reply:
    """What a person answered; not `ok` also when nobody could be asked."""

    ok: bool


class CommandContext(Protocol):
    """What an async handler may do with the program."""

    @property
    def workspace(self) -> Path:
        """The project's real path."""
        ...

    async def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> Reply:
        """Ask the person; with `danger` the cursor stands on no. Without a screen the reply is not ok."""
        ...

    def notify(self, level: Level, text: str) -> None:
        """Show a text in the conversation; the model never reads it."""
        ...

    def submit(self, text: str) -> None:
        """Queue `text` as the person's next message; it is never read as a command."""
        ...

    def set_status(self, text: str) -> None:
        """Show a short text in the status line; "" takes it away."""
        ...


class BlockingContext(Protocol):
    """What a plain (not async) handler gets: the same, but `confirm` waits for its answer."""

    @property
    def workspace(self) -> Path:
        """The project's real path."""
        ...

    def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> Reply:
        """Ask the person and wait; with `danger` the cursor stands on no. Without a screen the reply is not ok."""
        ...

    def notify(self, level: Level, text: str) -> None:
        """Show a text in the conversation; the model never reads it."""
        ...

    def submit(self, text: str) -> None:
        """Queue `text` as the person's next message; it is never read as a command."""
        ...

    def set_status(self, text: str) -> None:
        """Show a short text in the status line; "" takes it away."""
        ...


ToolAnswer = str | ToolReply | ToolResult
ToolHandler = Callable[[JsonObject, ToolContext], ToolAnswer | Awaitable[ToolAnswer]]
DetailHandler = Callable[[JsonObject], str | Awaitable[str]]
CommandHandler = Callable[[str, Any], object]  # Any: a CommandContext if async, else a BlockingContext
EventHandler = Callable[[JsonObject, Any], object]
HookHandler = Callable[[JsonObject], object]


class Extension(Protocol):
    """What the function `extend` of an extension is given. It is of use only while that function runs."""

    @property
    def name(self) -> str:
        """The extension's name: that of its file, or of its entry point."""
        ...

    @property
    def workspace(self) -> Path:
        """The project's real path."""
        ...

    def register_tool(
        self,
        name: str,
        description: str,
        schema: JsonObject | None,
        handler: ToolHandler,
        *,
        readable: bool = False,
        timeout_s: float = 0,
        detail: DetailHandler | None = None,
    ) -> None:
        """Offer a tool to the model. `schema` is the JSON schema of its arguments; None takes none.

        `readable` promises no side effects: such calls of a round may overlap. `timeout_s` 0 means 30 s, else it is
        clamped to 1-3600. `detail` gives one line from the arguments, shown before the call runs. A handler that
        raises ToolError answers with its text as an error. Raises ValueError when the tool cannot be offered.
        """
        ...

    def register_command(
        self, name: str, description: str, handler: CommandHandler, *, needs_args: bool = False
    ) -> None:
        """Add the slash command /`name`; its handler gets the trimmed arguments and a context.

        With `needs_args` choosing it in a list puts its name in the prompt. Raises ValueError for an illegal name.
        """
        ...

    def on(self, event: str, handler: EventHandler) -> None:
        """Call `handler` with each event of that type, as a JSON object, and a context.

        Raises ValueError for a type that there is not.
        """
        ...

    def hook(self, event: str, handler: HookHandler) -> None:
        """Let `handler` answer a hook event such as pre_tool: it gets the facts and gives an answer, None for none.

        An answer is a dict like the JSON of a hook command. A handler has 5 s; one that raises has failed, which at
        user_prompt, pre_tool and approval is a no. Raises ValueError for an event that there is not.
        """
        ...

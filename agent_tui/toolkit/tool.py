"""The base of every tool: what it is called, what it needs, what it does, how it is shown."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.text import display_text

DEFAULT_TIMEOUT_S = 30
MAX_TIMEOUT_S = 3600

P = TypeVar("P", bound=BaseModel)


def plain_display(_params: BaseModel, result: ToolResult) -> DisplayResult:
    """Show the model's text as plain text."""
    return display_text(result.output)


def no_title(_params: BaseModel) -> str:
    """Give no title."""
    return ""


@dataclass(frozen=True)
class DisplayConfig(Generic[P]):
    """How a tool's panel looks. The callables are pure and synchronous; one that raises falls back to the default.

    `display_title` is one line, shown before the run and cut to 50 characters + "..." by the caller.
    """

    display_name: str
    display_title: Callable[[P], str] = no_title
    display_content: Callable[[P, ToolResult], DisplayResult] = plain_display


class Tool(ABC, Generic[P]):
    """A tool. Subclass it in a file of its own and set the class attributes.

    `readable` promises no side effects: such calls may overlap. `timeout_s` 0 means 30 s, else it is clamped to
    1-3600. `interruptible` says that Esc may stop `run` half-way. A sync `run` gets a thread of its own.
    """

    name: str
    description: str
    params_type: type[P]
    readable: bool = False
    timeout_s: int = 0
    interruptible: bool = False
    display: DisplayConfig[P]

    def permissions(self, params: P, ctx: ToolContext) -> Sequence[Permission]:
        """Say what this call needs, with exact resolved targets. Runs before anything is asked; no side effects."""
        return ()

    async def preview(self, params: P, ctx: ToolContext) -> DisplayResult | None:
        """Show what the call would do, before it is approved. A file change returns a ChangePreview.

        Raises ToolError when the call cannot work at all: the model gets the text and nobody is asked.
        """
        return None

    @abstractmethod
    def run(self, params: P, ctx: ToolContext) -> ToolResult | Awaitable[ToolResult]:
        """Do the work. Raises ToolError with a text for the model; anything else is reported as a fault of the tool."""

    def compact_summary(self, params: P, result: ToolResult) -> str:
        """Give the bracketed line that stands for the result once the context is compacted."""
        return f"[{self.name}: {'error' if result.is_error else 'completed'}]"


def clamped_timeout_s(timeout_s: int) -> int:
    """Give the time limit in seconds that `timeout_s` of a tool means: 0 is 30, else 1-3600."""
    return DEFAULT_TIMEOUT_S if timeout_s == 0 else max(1, min(timeout_s, MAX_TIMEOUT_S))


def is_async(tool: "Tool[BaseModel]") -> bool:
    """Tell whether `run` is a coroutine function; a sync one runs in a thread."""
    return inspect.iscoroutinefunction(tool.run)

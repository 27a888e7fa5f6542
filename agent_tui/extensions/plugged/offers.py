"""What an extension offers, checked: tools, commands, the events it wants to hear of."""

import re
from dataclasses import dataclass, field
from typing import get_args

from pydantic import BaseModel

from agent_tui.extensions.mcp.schema import UnusableSchema, usable_schema
from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.events import Event
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.tools import ToolSpec
from agent_tui.toolkit.tool import clamped_timeout_s

MAX_TOOLS = 200
MAX_COMMANDS = 200
MAX_DESCRIPTION_CHARS = 10_000
SESSION_EVENTS = ("session_start", "session_end")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COMMAND_NAME = re.compile(r"[a-z0-9][a-z0-9_:-]{0,63}")


@dataclass(frozen=True)
class ToolOffer:
    """A tool as the model sees it; `timeout_s` is clamped already."""

    spec: ToolSpec
    readable: bool
    timeout_s: int
    has_detail: bool

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name


@dataclass(frozen=True)
class CommandOffer:
    """A slash command; `name` has no slash."""

    name: str
    description: str
    needs_args: bool


@dataclass
class Offer:
    """All that one extension offers, in the order it was registered."""

    tools: dict[str, ToolOffer] = field(default_factory=dict[str, ToolOffer])
    commands: dict[str, CommandOffer] = field(default_factory=dict[str, CommandOffer])
    events: set[str] = field(default_factory=set[str])
    hooks: set[str] = field(default_factory=set[str])

    def add_tool(self, tool: ToolOffer) -> None:
        """Add a tool; of two with one name the first stays. Raises ValueError."""
        if tool.name in self.tools:
            raise ValueError(f"the tool {tool.name!r} is registered twice")
        if len(self.tools) >= MAX_TOOLS:
            raise ValueError(f"more than {MAX_TOOLS} tools")
        self.tools[tool.name] = tool

    def add_command(self, command: CommandOffer) -> None:
        """Add a command; of two with one name the first stays. Raises ValueError."""
        if command.name in self.commands:
            raise ValueError(f"the command /{command.name} is registered twice")
        if len(self.commands) >= MAX_COMMANDS:
            raise ValueError(f"more than {MAX_COMMANDS} commands")
        self.commands[command.name] = command

    def summary(self) -> str:
        """Say in one line what is offered."""
        said = [*self.tools, *(f"/{name}" for name in self.commands)]
        if self.events:
            said.append(f"hears {', '.join(sorted(self.events))}")
        if self.hooks:
            said.append(f"answers {', '.join(sorted(self.hooks))}")
        return ", ".join(said) or "offers nothing"


def event_names() -> tuple[str, ...]:
    """Give the types that can be subscribed to."""
    union: type[BaseModel] = get_args(Event)[0]
    kinds: tuple[type[BaseModel], ...] = get_args(union)
    return (*SESSION_EVENTS, *(str(kind.model_fields["type"].default) for kind in kinds))


def tool_offer(
    name: object,
    description: object,
    schema: object,
    *,
    readable: bool = False,
    timeout_s: float = 0,
    has_detail: bool = False,
) -> ToolOffer:
    """Check a tool. Raises ValueError that says what is wrong with it."""
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise ValueError(f"a tool's name is 1-64 letters, digits, _ or -, got {name!r}")
    if not isinstance(description, str) or not description.strip():
        raise ValueError(f"the tool {name!r} needs a description for the model")
    if len(description) > MAX_DESCRIPTION_CHARS:
        raise ValueError(f"the description of {name!r} has more than {MAX_DESCRIPTION_CHARS:,} characters")
    try:
        usable: JsonObject = usable_schema(schema)
    except UnusableSchema as error:
        raise ValueError(f"the tool {name!r}: {error}") from error
    if timeout_s != timeout_s or not -1e9 < timeout_s < 1e9:  # NaN is not itself
        raise ValueError(f"the tool {name!r}: timeout_s must be a number of seconds, got {timeout_s!r}")
    spec = ToolSpec(name=name, description=plain(description), input_schema=usable)
    whole_s = int(timeout_s) if timeout_s == int(timeout_s) else int(timeout_s) + 1
    return ToolOffer(spec, bool(readable), clamped_timeout_s(whole_s), has_detail)


def command_offer(name: object, description: object, *, needs_args: bool = False) -> CommandOffer:
    """Check a command. Raises ValueError that says what is wrong with it."""
    if not isinstance(name, str) or not _COMMAND_NAME.fullmatch(name):
        raise ValueError(
            f"a command's name is 1-64 lower-case letters, digits, _, : or - without the slash, got {name!r}"
        )
    if not isinstance(description, str) or not description.strip():
        raise ValueError(f"the command /{name} needs a description")
    return CommandOffer(name, one_line(description), bool(needs_args))


def event_name(name: object) -> str:
    """Check the type of an event. Raises ValueError that names a near one."""
    known = event_names()
    if isinstance(name, str) and name in known:
        return name
    raise ValueError(f"there is no event {name!r}{did_you_mean(str(name), known)}")

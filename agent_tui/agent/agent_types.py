"""The kinds of sub-agents that are built in, and which tools a kind has."""

from dataclasses import dataclass

from agent_tui.executor.registry import CompositeSource

NOT_INSIDE = frozenset({"task", "question", "exit_plan_mode"})
"""Tools that no sub-agent has: it spawns nobody, asks nobody, and the plan is not its own."""

_LOOKS_OUTSIDE = frozenset({"webfetch", "websearch"})
_KEEPS_OUTPUT = frozenset({"bash_output"})


@dataclass(frozen=True)
class AgentType:
    """A kind of sub-agent. `prompt` "" means the words of the main agent; `tools` None means all it may have.

    `reads_only` leaves it the tools without side effects and those that look things up in the web. `model` "" is the
    main agent's.
    """

    name: str
    description: str
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    reads_only: bool = False
    model: str = ""


GENERAL = AgentType(
    "general", "Any piece of work of several steps: it may search, change files and run commands."
)
EXPLORE = AgentType(
    "explore",
    "Finds out something in the project or in the web and reports it; it cannot change anything.",
    reads_only=True,
)
BUILT_IN = (GENERAL, EXPLORE)


def tools_of(kind: AgentType, tools: CompositeSource) -> CompositeSource:
    """Give the tools a kind of sub-agent has, out of those of its main agent."""
    return tools.subset(
        [spec.name for spec in tools.specs() if spec.name not in NOT_INSIDE and fits(kind, spec.name, tools)]
    )


def fits(kind: AgentType, name: str, tools: CompositeSource) -> bool:
    """Tell whether a kind of agent has the tool `name`."""
    if kind.tools is not None and name not in kind.tools:
        return False
    return (
        not kind.reads_only or name in _LOOKS_OUTSIDE or (tools.readable(name) and name not in _KEEPS_OUTPUT)
    )

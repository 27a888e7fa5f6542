"""Reads sub-agents that a person described in markdown files."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.front_matter import Document, Fault, Unreadable, read_document
from agent_tui.extensions.places import Folder
from agent_tui.extensions.skills import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, NAME
from agent_tui.protocol.near_names import did_you_mean

_SAME_MODEL = frozenset({"", "inherit", "default", "sonnet", "opus", "haiku"})
_ALIASES = {"ls": "list", "multiedit": "edit", "shell": "bash"}


@dataclass(frozen=True)
class AgentFile:
    """A described agent. `tools` None means all it may have; `model` "" the one of the main agent."""

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...] | None
    model: str
    path: Path


def load_agents(
    folders: Sequence[Folder], tool_names: Sequence[str]
) -> tuple[tuple[AgentFile, ...], tuple[Fault, ...]]:
    """Read every `.md` file of the folders, nearest first and one of each name, with what is wrong with the others.

    `tool_names` are those there are; others that a file names are told and left out, but for those of MCP servers,
    which come up later.
    """
    agents: dict[str, AgentFile] = {}
    faults: list[Fault] = []
    for folder in folders:
        for path in _files(folder.path):
            try:
                document = read_document(path)
                agent, wrong = _agent(document, tool_names)
            except Unreadable as error:
                faults.append(error.fault)
                continue
            faults += [*document.faults, *wrong]
            agents.setdefault(agent.name, agent)
    return tuple(agents.values()), tuple(faults)


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(".md") and not name.startswith((".", "_"))]


def _agent(document: Document, tool_names: Sequence[str]) -> tuple[AgentFile, list[Fault]]:
    """Check what an agent must have. Raises Unreadable."""
    path = document.path
    name = document.values.get("name") or path.stem
    if len(name) > MAX_NAME_CHARS or not NAME.fullmatch(name):
        raise Unreadable(
            path,
            document.lines.get("name", 1),
            f"the name {name[:64]!r} must be lower-case words joined by -",
        )
    description = " ".join(document.values.get("description", "").split())
    if not description:
        raise Unreadable(path, document.lines.get("description", 1), "the description is missing")
    if not document.body.strip():
        raise Unreadable(path, 0, "there is no text behind the front matter: it is the agent's prompt")
    tools, faults = _tools(document, tool_names)
    model = document.values.get("model", "")
    return AgentFile(
        name=name,
        description=description[:MAX_DESCRIPTION_CHARS],
        prompt=document.body.strip(),
        tools=tools,
        model="" if model.lower() in _SAME_MODEL else model,
        path=path,
    ), faults


def _tools(document: Document, tool_names: Sequence[str]) -> tuple[tuple[str, ...] | None, list[Fault]]:
    """Give the tools a file names, in our spelling, and what it names that does not exist."""
    words = document.items("tools")
    if "tools" not in document.values or words == ("*",):
        return None, []
    known = {name.casefold(): name for name in tool_names}
    chosen: dict[str, None] = {}
    unknown: list[str] = []
    for word in words:
        plain = word.partition("(")[0].strip().casefold()
        name = known.get(_ALIASES.get(plain, plain))
        if name is None and plain.startswith("mcp__"):
            name = word.partition("(")[0].strip()
        if name is None:
            unknown.append(f"{word}{did_you_mean(plain, tool_names, otherwise='')}")
        else:
            chosen[name] = None
    line = document.lines["tools"]
    faults = [Fault(document.path, line, f"no such tool: {', '.join(unknown)}")] if unknown else []
    return tuple(chosen), faults

"""Finds what describes work in files - skills, commands, agents - as far as it counts in a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.agent.agent_types import BUILT_IN, AgentType, fits
from agent_tui.config.paths import user_paths
from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.agents import AgentFile, load_agents
from agent_tui.extensions.commands import CommandLibrary
from agent_tui.extensions.places import Folder, folders
from agent_tui.extensions.skills import SkillLibrary
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.run.counted import Counted

ALWAYS = "exit_plan_mode"
"""A tool that the agent of a whole run keeps: without it plan mode could not be left."""


@dataclass(frozen=True)
class Texts:
    """What was found. `agents` are those that can be sent, `chosen` is the one that the whole run is, if any."""

    skills: SkillLibrary
    commands: CommandLibrary
    agents: Sequence[AgentFile]
    agent_faults: Sequence[str]
    chosen: AgentType | None


def skill_library(workspace: Path, *, counted: Counted | None = None) -> SkillLibrary:
    """Give the skills of the project and the user's."""
    return SkillLibrary(_folders("skills", workspace, counted or Counted()))


def command_library(
    counted: Counted, workspace: Path, *, project_counts: Callable[[], bool]
) -> CommandLibrary:
    """Give the commands of the project and the user's."""
    return CommandLibrary(
        _folders("commands", workspace, counted), project_counts=project_counts, shell=counted.code
    )


def _folders(kind: str, workspace: Path, counted: Counted, *, project: bool = True) -> list[Folder]:
    if not counted.texts:
        return []
    home, config = Path.home(), user_paths().config
    return folders(kind, workspace=workspace, home=home, config=config, project=project)


def find_texts(
    counted: Counted,
    workspace: Path,
    *,
    agent: str,
    tools: Sequence[str],
    trusted: bool,
    project_counts: Callable[[], bool],
) -> Texts:
    """Look for all of it; an agent that was named counts also where the others are left out. Raises UsageError."""
    everything = Counted() if agent else counted
    found, faults = load_agents(_folders("agents", workspace, everything, project=trusted), tools)
    return Texts(
        skills=skill_library(workspace, counted=counted),
        commands=command_library(counted, workspace, project_counts=project_counts),
        agents=found if counted.texts else (),
        agent_faults=[str(fault) for fault in faults] if counted.texts else [],
        chosen=_chosen(agent, found, trusted=trusted) if agent else None,
    )


def agent_types(files: Sequence[AgentFile]) -> list[AgentType]:
    """Give the agents there are; a described one takes the place of a built-in one of its name."""
    described = [
        AgentType(file.name, file.description, prompt=file.prompt, tools=file.tools, model=file.model)
        for file in files
    ]
    names = {kind.name for kind in described}
    return [*(kind for kind in BUILT_IN if kind.name not in names), *described]


def _chosen(name: str, files: Sequence[AgentFile], *, trusted: bool) -> AgentType:
    kinds = agent_types(files)
    kind = next((kind for kind in kinds if kind.name == name), None)
    if kind is None:
        hint = "" if trusted else "; those of this project count once you trust it (--trust, or /trust)"
        meant = did_you_mean(name, [kind.name for kind in kinds])
        raise UsageError(f"--agent: there is no agent {name!r}{meant}{hint}")
    return kind


def tools_of_run(kind: AgentType | None, tools: CompositeSource) -> CompositeSource:
    """Give the tools of a run that is this agent: those that it names, or those that only look."""
    if kind is None or (kind.tools is None and not kind.reads_only):
        return tools  # also those of servers that come up later
    named = kind.tools if kind.tools is not None else tuple(spec.name for spec in tools.specs())
    return tools.subset([ALWAYS, *(name for name in named if fits(kind, name, tools))])

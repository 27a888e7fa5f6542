"""Which tools a rule of a run may name, also those that are switched off or not loaded."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.config.settings import Settings
from agent_tui.extensions.loader import plugin_units
from agent_tui.extensions.plugged.host import ExtensionHost
from agent_tui.permissions.known_tools import no_tool
from agent_tui.permissions.rules import RuleBook
from agent_tui.run.extensions import PROJECT_EXTENSIONS, found_extensions

RULE_NEEDS_A_LOOK = "A permission rule needs a look: "
"""How notices about rules begin. They are told even to who wants no progress: a denial that was meant may be lost."""
PROJECT_TOOLS = Path(".agent-tui") / "tools"


@dataclass(frozen=True)
class KnownTools:
    """Names of tools besides those of servers; `are_all` says that no extension can bring more."""

    names: frozenset[str]
    are_all: bool


def known_tools(
    settings: Settings,
    paths: Paths,
    workspace: Path,
    *,
    trusted: bool,
    loaded: Collection[str] = (),
    host: ExtensionHost | None = None,
) -> KnownTools:
    """Give the names that count. `loaded` are those of the tools there are now, `host` runs the extensions.

    A tool file stands for the tool of its name, whether it was loaded or not. Runs nothing.
    """
    files = [stem for at in (paths.user_tools, workspace / PROJECT_TOOLS) for stem, _ in plugin_units(at)]
    waits = (workspace / PROJECT_EXTENSIONS).is_dir() and not trusted
    if host is not None:
        waits = waits or host.may_bring_more or not settings.extensions.enabled
    else:
        waits = waits or bool(found_extensions(settings, paths, workspace, trusted=trusted).found)
    return KnownTools(frozenset([*files, *settings.tools.disable, *loaded]), not waits)


def rule_problems(book: RuleBook, tools: KnownTools, *, told: Collection[str] = ()) -> list[str]:
    """Name what is wrong with the rules of a run, each with its place; the files `told` were named already."""
    broken = [
        f"{f'{one.file}:{one.line}' if one.line else one.file}: {one.text}"
        for one in book.problems
        if one.file not in told
    ]
    lost = [
        f"{f'{rule.origin.file}:{rule.origin.line}' if rule.origin.line else rule.origin.file}: {rule.effect} {said}"
        for rule in book.rules
        if (said := no_tool(rule, tools.names, are_all=tools.are_all))
    ]
    return [*dict.fromkeys([*broken, *lost])]


async def tools_of_extensions(
    settings: Settings, paths: Paths, workspace: Path, *, trusted: bool
) -> list[str]:
    """Start the extensions, ask for the names of their tools, and end them."""
    host = ExtensionHost(workspace)
    findings = found_extensions(settings, paths, workspace, trusted=trusted)
    await asyncio.to_thread(host.load, findings)
    host.start()
    try:
        await host.settled()
        return host.tool_names()
    finally:
        await host.aclose()

"""What is wrong with the settings files of a person and a project, as the readers that a run uses find it."""

import asyncio
from dataclasses import replace
from pathlib import Path

from agent_tui.config.paths import user_paths
from agent_tui.extensions.hooks.settings import find_hooks
from agent_tui.extensions.trust import TrustStore
from agent_tui.run.ground import rule_book
from agent_tui.run.hook_files import hook_files
from agent_tui.run.known_tools import known_tools, rule_problems, tools_of_extensions
from agent_tui.run.mcp_files import configured
from agent_tui.run.options import RunOptions
from agent_tui.run.settings import loaded_settings


def found_problems(workspace: Path, *, inside: bool = False) -> list[str]:
    """Give a sentence for each problem: settings, rules, hooks, MCP servers.

    Extensions are started to ask for the names of their tools; `inside` the running program, on a loop, they are not.
    """
    options, paths = RunOptions(), user_paths()
    loaded = loaded_settings(options, workspace, trusted=True)
    told = loaded.broken_files
    trusted = TrustStore(paths.state).verdict(workspace).trusted
    known = known_tools(loaded.settings, paths, workspace, trusted=trusted)
    if not known.are_all and not inside:
        more = asyncio.run(tools_of_extensions(loaded.settings, paths, workspace, trusted=trusted))
        known = replace(known, names=known.names | set(more))
    hooks = find_hooks(hook_files(paths, workspace, trusted=True, counted=options.counted))
    servers = configured(options, paths, workspace, trusted=True)
    return [
        *map(str, loaded.problems),
        *rule_problems(rule_book(options, paths, workspace, trusted=True), known, told=told),
        *hooks.problems,
        *servers.problems_beside(told),
        *(f"{one.file}: mcp server {one.name!r}: {one.problem}" for one in servers.servers if one.problem),
    ]

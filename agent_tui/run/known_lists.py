"""Which names the lists of tools and extensions in the settings may hold."""

from collections.abc import Collection, Mapping
from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools, plugin_units
from agent_tui.extensions.plugged.discover import find_extensions
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.run.extensions import extension_places
from agent_tui.run.known_tools import PROJECT_TOOLS

LISTS = frozenset({"tools.disable", "tools.override", "extensions.disable"})
"""The keys of these lists."""
_SERVERS = "mcp__"


def known_lists(
    paths: Paths, workspace: Path, *, trusted: bool, tools: Collection[str]
) -> Mapping[str, Collection[str]]:
    """Give the names by the key of the list. Runs the person's tool files and a trusted project's.

    `tools` are those known already. Those of MCP servers are known only while the servers run: none is missed.
    """
    folders = [("user", paths.user_tools), *([("project", workspace / PROJECT_TOOLS)] if trusted else [])]
    own = [tool.name for source, folder in folders for tool in load_tools(folder, source=source).tools]
    names = [*(stem for stem, _ in plugin_units(tools_dir())), *own, *tools]
    extensions = find_extensions(extension_places(paths, workspace, trusted=True)).found
    return {
        "tools.disable": names,
        "tools.override": names,
        "extensions.disable": [extension.name for extension in extensions],
    }


def unknown_names(key: str, given: Collection[str], known: Collection[str]) -> list[str]:
    """Say which names of a list nothing bears."""
    kind = "extension" if key.startswith("extensions.") else "tool"
    missed = [
        name for name in given if name not in known and not (kind == "tool" and name.startswith(_SERVERS))
    ]
    return [f"no {kind} is known as {name!r}{did_you_mean(name, known, otherwise='')}" for name in missed]

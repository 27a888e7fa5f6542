"""Says what a run leaves out that would run code, so that nobody takes it for there."""

from dataclasses import replace
from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.extensions.hooks.settings import find_hooks
from agent_tui.extensions.loader import plugin_units
from agent_tui.extensions.plugged.discover import find_extensions
from agent_tui.run.counted import Counted
from agent_tui.run.extensions import extension_places
from agent_tui.run.hook_files import hook_files
from agent_tui.run.known_tools import PROJECT_TOOLS
from agent_tui.run.mcp_files import configured
from agent_tui.run.options import RunOptions
from agent_tui.run.settings import loaded_settings
from agent_tui.run.texts import command_library


def left_out(options: RunOptions, paths: Paths, workspace: Path, *, trusted: bool) -> list[str]:
    """Give the sentence of a run without code; --bare names only what would have guarded."""
    if options.counted.code:
        return []
    hooks, guardrails = _hooks(options, paths, workspace, trusted), _units(paths.guardrails)
    guards = [_count(hooks, "hook"), _count(guardrails, "guardrail")]
    if options.bare:
        said = _joined(guards)
        return [f"Left out by --bare: {said}. Nothing of yours looks at calls in this run."] if said else []
    others = _others(replace(options, safe_mode=False), paths, workspace, trusted)
    said = _joined([*guards, *others])
    if not said:
        return ["Safe mode: nothing of yours or of this project would run code anyway."]
    return [f"Safe mode: what would run code is left out: {said}."]


def _hooks(options: RunOptions, paths: Paths, workspace: Path, trusted: bool) -> int:
    every, kept = (
        find_hooks(hook_files(paths, workspace, trusted=trusted, counted=counted)).hooks
        for counted in (Counted() if options.bare else Counted(options.counted.sources), options.counted)
    )
    return len(every) - len(kept)


def _others(options: RunOptions, paths: Paths, workspace: Path, trusted: bool) -> list[str]:
    """Name the rest; `options` are those of the same run without safe mode. Runs nothing."""
    settings = loaded_settings(options, workspace, trusted=trusted).settings
    places = extension_places(paths, workspace, trusted=trusted)
    found = find_extensions(places, disabled=settings.extensions.disable).found
    extensions = len(found) if settings.extensions.enabled else 0
    tools = _units(paths.user_tools) + (_units(workspace / PROJECT_TOOLS) if trusted else 0)
    servers = [spec.name for spec in configured(options, paths, workspace, trusted=trusted).servers]
    given = replace(options, strict_mcp_config=True)
    kept = {spec.name for spec in configured(given, paths, workspace, trusted=trusted).servers}
    library = command_library(Counted(), workspace, project_counts=lambda: trusted)
    commands = sum(command.runs_shell for command in library.find().commands)
    return [
        _count(extensions, "extension"),
        _count(tools, "tool"),
        _count(sum(name not in kept for name in servers), "MCP server"),
        _count(commands, "command with shell lines", "commands with shell lines"),
        "the key command" if settings.model.key_command else "",
    ]


def _units(folder: Path) -> int:
    return sum(1 for _ in plugin_units(folder))


def _count(count: int, noun: str, several: str = "") -> str:
    return f"{count} {noun if count == 1 else several or noun + 's'}" if count else ""


def _joined(parts: list[str]) -> str:
    return ", ".join(part for part in parts if part)

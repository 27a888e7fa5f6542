"""Which files describe MCP servers that count in a run."""

from pathlib import Path

from agent_tui.config.paths import Paths, project_private_config
from agent_tui.extensions.mcp.config import ConfigFiles, Found, find_servers, project_places
from agent_tui.run.options import RunOptions


def configured(options: RunOptions, paths: Paths, workspace: Path, *, trusted: bool) -> Found:
    """Read which servers count: those of --mcp-config, the user's, and a trusted project's."""
    counted = options.counted
    places = project_places(workspace, home=Path.home().resolve()) if trusted else ()
    private = project_private_config(workspace).name
    return find_servers(
        ConfigFiles(
            user=paths.user_config if "user" in counted.sources else None,
            project=tuple(
                place
                for place in places
                if ("private" if place.name == private else "project") in counted.sources
            ),
            given=options.mcp_config,
            strict=options.strict_mcp_config or not counted.code,
        )
    )

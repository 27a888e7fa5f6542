"""Opens the program in a browser on this machine: `agent-tui serve`."""

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_tui.protocol.errors import UsageError
from agent_tui.run.in_browser import IN_BROWSER


def serve(flags: Sequence[str], *, port: int, workspace: Path, tell: Callable[[str], None]) -> None:
    """Serve `workspace` until told to end. Raises UsageError when it cannot."""
    if os.environ.get("AGENT_TUI_CHILD"):
        raise UsageError("the program is served by a person, not by a command of the agent")
    try:
        from agent_tui.ui.browser.server import serve as serve_pages  # the extra may be missing
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("textual_serve", "aiohttp"):
            raise
        raise UsageError(
            "serve needs the package textual-serve; install it beside agent-tui with: pip install textual-serve"
        ) from error
    command = [
        "env",
        f"{IN_BROWSER}=1",
        "TERM=xterm-256color",
        sys.executable,
        "-P",
        "-m",
        "agent_tui",
        *flags,
    ]

    def ready(url: str) -> None:
        tell(f"Open {url}")
        tell("Only this machine reaches it, and only with this whole address. Ctrl+C ends it.")

    title = f"agent-tui: {workspace.name}"
    try:
        asyncio.run(serve_pages(f"exec {shlex.join(command)}", port=port, title=title, tell=ready))
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be used: {error.strerror or error}; choose another with --port"
        ) from error

"""Writes how MCP servers are, for the panel and for plain lines."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from agent_tui.ui.look import cut_middle, spans
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.servers import ServerView

NONE = "There are no MCP servers. Add one: /mcp add NAME -- COMMAND, or /mcp add NAME URL."
MARKS = {
    "ready": ("●", "$success"),
    "starting": ("◌", "$muted"),
    "waiting": ("◌", "$muted"),
    "restarting": ("◌", "$warning"),
    "needs login": ("!", "$warning"),
    "failed": ("✗", "$error"),
    "off": ("○", "$faint"),
}
_WIDEST_NAME = 28
_SHOWN_TOOLS = 12


def offered(server: ServerView) -> str:
    """Say how many tools a server offers, and how many wait for the person."""
    tools = len(server.tools)
    said = f"{tools} tool{'' if tools == 1 else 's'}" if server.state == "ready" else ""
    return f"{said}, {len(server.changed)} changed" if server.changed else said


def row(server: ServerView, names: Sequence[str]) -> Content:
    """Give one line of the panel."""
    width = min(max((len(name) for name in names), default=0), _WIDEST_NAME)
    mark, style = MARKS.get(server.state, ("?", "$muted"))
    said = offered(server)
    if server.target:
        said = f"{said:<20}"
    return spans(
        (f" {mark} ", style),
        cut_middle(clean_line(server.name), width).ljust(width + 2),
        (f"{server.state:<13}" if said else server.state, style),
        (said, "$warning" if server.changed else ""),
        (clean_line(server.target), "$muted"),
    )


def about(server: ServerView) -> list[str]:
    """Give the facts below the list, one line each."""
    who = " · ".join(filter(None, [server.title, f"protocol {server.version}" if server.version else ""]))
    lines = [f"{server.name}{f' · {who}' if who else ''}"]
    if server.file:
        lines.append(f"from {server.file} ({server.origin})")
    if server.detail:
        lines.append(server.detail)
    if server.tools:
        more = len(server.tools) - _SHOWN_TOOLS
        names = ", ".join(_short(name) for name in server.tools[:_SHOWN_TOOLS])
        lines.append(f"tools: {names}{f' and {more} more' if more > 0 else ''}")
    if server.changed:
        lines.append(f"switched off until you accept them: {', '.join(c.tool for c in server.changed)}")
    return [clean_line(line) for line in [*lines, *(f"! {problem}" for problem in server.problems)]]


def _short(name: str) -> str:
    return name.split("__", 2)[-1]


def report(servers: Sequence[ServerView]) -> str:
    """Give all servers as lines."""
    if not servers:
        return NONE
    lines: list[str] = []
    for server in servers:
        mark = MARKS.get(server.state, ("?", ""))[0]
        said = ", ".join(filter(None, [server.state, offered(server)]))
        lines.append(clean_line(f"{mark} {server.name}: {said} · {server.target}"))
        if server.detail:
            lines.append(clean_line(f"    {server.detail}"))
    return "\n".join(lines)

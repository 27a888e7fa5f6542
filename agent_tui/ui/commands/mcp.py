"""The slash command about MCP servers."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.screens.mcp.text import report

_USAGE = "[add | remove | reload | reconnect | enable | disable | login | logout | accept | log] [name]"
_VERBS = (
    "list",
    "add",
    "remove",
    "reload",
    "reconnect",
    "enable",
    "disable",
    "login",
    "logout",
    "accept",
    "log",
)
_CHANGING = ("add", "remove")


async def _mcp(host: CommandHost, args: str) -> None:
    verb, _, rest = args.partition(" ")
    verb, name = {"auth": "login"}.get(verb.lower(), verb.lower()), rest.strip()
    desk = host.backend.mcp
    if not verb:
        await host.show_servers()
    elif verb == "list":
        host.notice("info", report(desk.servers()))
    elif verb == "reload":
        host.notice("info", await desk.reload())
    elif verb in _CHANGING:
        host.notice("info", await desk.change(f"{verb} {name}"))
    elif verb not in _VERBS:
        host.notice("warning", f"Write /mcp {_USAGE}.")
    elif name not in (names := [server.name for server in desk.servers()]):
        known = ", ".join(names) or "none"
        host.notice("warning", f"Write /mcp {verb} NAME; the servers are: {known}.")
    else:
        await _named(host, verb, name)


async def _named(host: CommandHost, verb: str, name: str) -> None:
    desk = host.backend.mcp
    match verb:
        case "reconnect":
            host.notice("info", desk.reconnect(name))
        case "enable" | "disable":
            host.notice("info", desk.enable(name, verb == "enable"))
        case "login":
            await host.sign_in(name)
        case "logout":
            host.notice("info", await desk.logout(name))
        case "log":
            host.notice("info", "\n".join(desk.log(name)) or f"{name} said nothing yet.")
        case _:
            await _accept(host, name)


async def _accept(host: CommandHost, name: str) -> None:
    desk = host.backend.mcp
    changed = next((server.changed for server in desk.servers() if server.name == name), ())
    if not changed:
        raise AgentTuiError(f"{name} describes its tools as you accepted them.")
    if await host.ask_changed(name, changed):
        host.notice("info", await desk.accept(name))


async def _words(host: CommandHost, typed: str) -> Sequence[str]:
    verb, blank, _ = typed.partition(" ")
    if not blank:
        return _VERBS
    return [f"{verb} {server.name}" for server in host.backend.mcp.servers()]


def mcp_commands() -> list[Command]:
    """Give the command."""
    return [
        Command(
            "mcp",
            "state, log and sign-in of the MCP servers",
            _mcp,
            usage=_USAGE,
            while_busy=True,
            complete=_words,
        )
    ]

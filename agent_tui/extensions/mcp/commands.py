"""`agent-tui mcp`: add, list, get, remove, test, accept, login, logout."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.mcp.changing import Refused, add_changing, apply, parse
from agent_tui.extensions.mcp.config import PROJECT_FILE, Found, ServerFiles
from agent_tui.extensions.mcp.guest import Desk
from agent_tui.extensions.mcp.pins import ChangedTool
from agent_tui.extensions.mcp.servers import Servers, ServerStatus
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.plain import plain
from agent_tui.protocol.arguments import ArgumentParser
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.near_names import did_you_mean

CHILD_VARIABLE = "AGENT_TUI_CHILD"
_CHANGING = frozenset({"add", "remove", "accept", "test", "login", "logout"})


@dataclass(frozen=True)
class Setup:
    """What the commands work on. `found` are the servers that count here; a project's only when it is trusted."""

    workspace: Path
    files: ServerFiles
    state_dir: Path
    found: Found
    trusted: bool


def main(arguments: Sequence[str], *, setup: Callable[[Path], Setup]) -> int:
    """Run `agent-tui mcp ARGUMENTS` and give the exit code."""
    options = parse(parser(), arguments)
    if options.action in _CHANGING and os.environ.get(CHILD_VARIABLE):
        print(
            f"agent-tui: `mcp {options.action}` is for a person, not for a command of the agent",
            file=sys.stderr,
        )
        return 1
    run: Callable[[Setup, argparse.Namespace], int] = options.run
    try:
        return run(setup(Path.cwd()), options)
    except BrokenPipeError:  # the reader of the output had enough
        raise
    except (Refused, OSError) as error:
        print(f"agent-tui: {error}", file=sys.stderr)
        return 1


def parser() -> ArgumentParser:
    """Give the parser of `agent-tui mcp`; each action of it names its function as `run`."""
    made = ArgumentParser(prog="agent-tui mcp", description="MCP servers: programs that offer tools.")
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    for changing in add_changing(actions):
        changing.set_defaults(run=_change)
    shown = actions.add_parser("list", help="list the servers that count here")
    shown.add_argument("--json", action="store_true")
    shown.set_defaults(run=_list)
    get = actions.add_parser("get", help="show one server's settings")
    get.add_argument("name")
    get.set_defaults(run=_get)
    test = actions.add_parser("test", help="start a server, list what it offers, and end it")
    test.add_argument("name")
    test.add_argument("--json", action="store_true")
    test.set_defaults(run=_test)
    accept = actions.add_parser("accept", help="accept how a server describes its tools now")
    accept.add_argument("name")
    accept.add_argument("tools", nargs="*", help="only these; default: all that changed")
    accept.add_argument("--yes", action="store_true", help="accept without asking")
    accept.set_defaults(run=_accept)
    login = actions.add_parser("login", help="sign in to a server over HTTP, in the browser")
    login.add_argument("name")
    login.add_argument("--no-browser", action="store_true", help="print the address instead of opening it")
    login.set_defaults(run=_login)
    logout = actions.add_parser("logout", help="forget the sign-in to a server")
    logout.add_argument("name")
    logout.set_defaults(run=_logout)
    return made


def _change(setup: Setup, options: argparse.Namespace) -> int:
    print(apply(options, setup.files))
    if options.action == "add" and options.scope == "project" and not setup.trusted:
        print("This project is not trusted: the server does not start until it is (/trust).")
    return 0


# Showing and trying.


def _list(setup: Setup, options: argparse.Namespace) -> int:
    specs = setup.found.servers
    if options.json:
        print(json.dumps([_facts(spec) for spec in specs]))
        return 0
    for problem in setup.found.problems:
        print(plain(problem), file=sys.stderr)
    for spec in specs:
        state = spec.problem or ("" if spec.enabled else "switched off")
        _say(
            f"{spec.name:20} {spec.origin:8} {spec.transport:6} {spec.target}{f'  ({state})' if state else ''}"
        )
    if not specs:
        print("No MCP servers. Add one: agent-tui mcp add NAME -- COMMAND")
    if unread := _unread(setup):
        print(unread)
    return 0


def _facts(spec: ServerSpec) -> dict[str, object]:
    """Give a server without the values of its variables and headers: they may be secrets."""
    return {
        "name": spec.name,
        "origin": spec.origin,
        "file": spec.file,
        "transport": spec.transport,
        "target": spec.target,
        "env": sorted(spec.env),
        "headers": sorted(spec.headers),
        "enabled": spec.enabled,
        "problem": spec.problem,
    }


def _named(setup: Setup, name: str) -> ServerSpec:
    """Raises Refused."""
    for spec in setup.found.servers:
        if spec.name == name:
            return spec
    names = [spec.name for spec in setup.found.servers]
    unread = _unread(setup)
    meant = did_you_mean(
        name, names, otherwise=f". {unread}" if unread else "; 'agent-tui mcp list' lists them"
    )
    raise Refused(f"there is no MCP server {name!r} here{meant}")


def _unread(setup: Setup) -> str:
    """Say that the project's servers do not count, where they do not."""
    if setup.trusted or not (setup.workspace / PROJECT_FILE).exists():
        return ""
    return (
        f"{PROJECT_FILE} does not count: this project is not trusted. Open agent-tui here; /trust shows it."
    )


def _get(setup: Setup, options: argparse.Namespace) -> int:
    for key, value in _facts(_named(setup, options.name)).items():
        _say(f"{key:10} {json.dumps(value) if isinstance(value, list) else value}")
    return 0


def _test(setup: Setup, options: argparse.Namespace) -> int:
    status, log, _ = asyncio.run(_try_out(setup, _named(setup, options.name), accept=None))
    if options.json:
        print(
            json.dumps(
                {"name": status.name, "state": status.state, "detail": status.detail, "tools": status.tools}
            )
        )
        return 0 if status.state == "ready" else 1
    if status.state != "ready":
        _say("\n".join([*log, f"{status.name}: {status.detail}"]))
        return 1
    offered = "1 tool" if len(status.tools) == 1 else f"{len(status.tools)} tools"
    _say(f"{status.name}: {status.title}, protocol {status.version}, {offered}")
    for name in status.tools:
        _say(f"  {name}")
    for problem in status.problems:
        _say(f"  ! {problem}")
    for tool in status.changed:
        _say(f"  ! changed since it was accepted: {tool.original}\n{tool.diff()}")
    return 0


def _accept(setup: Setup, options: argparse.Namespace) -> int:
    wanted = tuple(options.tools) or None

    def confirm(changed: Sequence[ChangedTool]) -> bool:
        for tool in changed:
            _say(f"{tool.original}\n{tool.diff()}\n")
        return bool(options.yes) or input("Accept this? [y/N] ").strip().casefold() in ("y", "yes")

    status, _, accepted = asyncio.run(
        _try_out(setup, _named(setup, options.name), accept=confirm, wanted=wanted)
    )
    if status.state != "ready":
        raise Refused(f"{status.name}: {status.detail}")
    print(f"Accepted: {', '.join(accepted)}" if accepted else "Nothing changed, or nothing was accepted.")
    return 0


def _login(setup: Setup, options: argparse.Namespace) -> int:
    from agent_tui.extensions.mcp.terminal_login import terminal_visit  # the SDK: 0.4 s of CPU

    spec = _named(setup, options.name)

    async def sign_in() -> str:
        async with terminal_visit(outside=setup.workspace, browser=not options.no_browser) as visit:
            return await _servers(setup, spec).login(spec.name, visit)

    try:
        print(asyncio.run(sign_in()))
    except ToolError as error:
        raise Refused(str(error)) from error
    return 0


def _logout(setup: Setup, options: argparse.Namespace) -> int:
    spec = _named(setup, options.name)
    try:
        print(asyncio.run(_servers(setup, spec).logout(spec.name)))
    except ToolError as error:
        raise Refused(str(error)) from error
    return 0


def _servers(setup: Setup, spec: ServerSpec) -> Servers:
    return Servers([spec], desk=Desk(roots=(setup.workspace,)), state_dir=setup.state_dir)


async def _try_out(
    setup: Setup,
    spec: ServerSpec,
    *,
    accept: Callable[[Sequence[ChangedTool]], bool] | None,
    wanted: tuple[str, ...] | None = None,
) -> tuple[ServerStatus, list[str], list[str]]:
    """Start one server, let a person accept what changed, and end it."""
    servers = _servers(setup, spec)
    servers.start()
    accepted: list[str] = []
    try:
        await servers.settled()
        status = servers.statuses()[0]
        chosen = [t for t in status.changed if wanted is None or t.original in wanted or t.name in wanted]
        if accept is not None and chosen and accept(chosen):
            accepted = await servers.accept(spec.name, wanted)
        return status, servers.log(spec.name), accepted
    finally:
        await servers.aclose()


def _say(text: str) -> None:
    print(plain(text))

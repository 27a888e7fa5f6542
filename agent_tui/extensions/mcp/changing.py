"""Adds and removes MCP servers in the settings, from a shell or from a line typed inside the program."""

import argparse
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from pydantic import TypeAdapter, ValidationError

from agent_tui.extensions.mcp.config import ServerFiles, read_text
from agent_tui.extensions.mcp.oauth_config import IdentityProvider, OAuthClient, read_oauth
from agent_tui.protocol.arguments import ArgumentParser, LineParser
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import first_misfit
from agent_tui.protocol.private_file import write_private

_TABLE = TypeAdapter(dict[str, object])
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_NUMBERS = ("redirect_port",)


class Refused(Exception):
    """What was asked for cannot be done; the text says why."""


class Actions(Protocol):
    """What argparse's add_subparsers gives."""

    def add_parser(self, name: str, *, help: str) -> argparse.ArgumentParser:
        """Add an action."""
        ...


def add_changing(actions: Actions) -> Sequence[argparse.ArgumentParser]:
    """Add the actions `add` and `remove` to a parser."""
    add = actions.add_parser("add", help="add a server: NAME URL, or NAME -- COMMAND ARGUMENT...")
    add.add_argument("name")
    add.add_argument("url", nargs="?", default="", help="http:// or https://; or give -- COMMAND")
    add.add_argument("-e", "--env", action="append", default=[], metavar="NAME=VALUE", help="for a command")
    add.add_argument("-H", "--header", action="append", default=[], metavar="'NAME: VALUE'", help="for a URL")
    add.add_argument("-t", "--transport", choices=["stdio", "http", "sse"], default="")
    add.add_argument(
        "--oauth",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for a URL whose sign-in lets nobody register: client_id, client_secret, scopes, ...",
    )
    add.add_argument("-s", "--scope", choices=["user", "project"], default="user")
    remove = actions.add_parser("remove", help="remove a server from the settings")
    remove.add_argument("name")
    remove.add_argument("-s", "--scope", choices=["user", "project"], default="user")
    return add, remove


def parse(parser: ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse `words`; what follows `--` is a server's own command line, in which argparse would look for flags."""
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.command = list(words[end + 1 :])
    return options


def apply(options: argparse.Namespace, files: ServerFiles) -> str:
    """Do what the options of `add` or `remove` say and give a sentence. Raises Refused and OSError."""
    adds = options.action == "add"
    entry = _entry(options) if adds else None
    name: str = options.name
    if adds and not _NAME.fullmatch(name):
        raise Refused(f"{name!r} is no good name: letters, digits, `.`, `_` and `-`, at most 64")
    path = files.project if options.scope == "project" else files.user
    change = _change_json if options.scope == "project" else _change_toml
    change(path, name, entry)
    return f"Added {name!r} to {path}." if adds else f"Removed {name!r} from {path}."


def apply_line(line: str, files: ServerFiles) -> tuple[str, str]:
    """Do what a typed line such as `add sums -- sums --serve` says.

    Gives a sentence and the server's name. Raises Refused and OSError.
    """
    parser = LineParser(prog="/mcp", add_help=False)
    add_changing(parser.add_subparsers(dest="action", required=True, metavar="ACTION"))
    try:
        options = parse(parser, shlex.split(line))
    except ValueError as error:
        raise Refused(str(error)) from error
    return apply(options, files), options.name


def _entry(options: argparse.Namespace) -> dict[str, object]:
    """Give a server's settings as they are written down. Raises Refused."""
    url, command, transport = str(options.url), list[str](options.command), str(options.transport)
    if bool(url) == bool(command):
        raise Refused("give a URL, or -- and a command")
    if transport and (transport == "stdio") == bool(url):
        raise Refused(f"the transport {transport!r} does not fit")
    if url:
        if not url.startswith(("http://", "https://")):
            raise Refused(f"{url!r} does not begin with http:// or https://; a command stands behind --")
        headers = dict(_pair(text, ":", "header") for text in options.header)
        entry = {"url": url, "type": transport, "headers": headers, "oauth": _oauth(options.oauth)}
        return {key: value for key, value in entry.items() if value}
    if options.oauth:
        raise Refused("only a server with a URL has a sign-in")
    env = dict(_pair(text, "=", "variable") for text in options.env)
    return {"command": command[0], "args": command[1:], **({"env": env} if env else {})}


def _oauth(pairs: Sequence[str]) -> dict[str, object]:
    """Give the `oauth` table of `KEY=VALUE`; `idp.KEY` is a key of the company's sign-in. Raises Refused."""
    table: dict[str, object] = {}
    for pair in pairs:
        key, value = _pair(pair, "=", "oauth key")
        group, dot, inner = key.partition(".")
        known = (
            OAuthClient.model_fields if not dot else IdentityProvider.model_fields if group == "idp" else {}
        )
        if (inner or key) not in known or key == "idp":
            raise Refused(f"there is no oauth key {key!r}{did_you_mean(key, OAuthClient.model_fields)}")
        if dot:
            cast("dict[str, object]", table.setdefault(group, {}))[inner] = value
        else:
            table[key] = int(value) if key in _NUMBERS and value.isdecimal() else value
    if table:
        try:
            read_oauth(OAuthClient.model_validate(table), lambda text: text)
        except ValidationError as error:
            raise Refused(f"oauth.{first_misfit(error)}") from error
        except ValueError as error:
            raise Refused(str(error)) from error
    return table


def _pair(text: str, mark: str, kind: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise Refused(f"the {kind} {text!r} must be written NAME{mark}VALUE")
    return name.strip(), value.strip() if mark == ":" else value


def _read(path: Path) -> str:
    """Raises Refused."""
    try:
        return read_text(path) or ""
    except ValueError as error:
        raise Refused(f"{path}: {error}") from error


def _change_json(path: Path, name: str, entry: Mapping[str, object] | None) -> None:
    """Set or remove a server in a .mcp.json. Raises Refused and OSError."""
    text = _read(path)
    try:
        data = _TABLE.validate_json(text) if text.strip() else {}
    except ValidationError as error:
        raise Refused(f"{path}: is not a JSON object") from error
    servers = data.setdefault("mcpServers", {})
    if not isinstance(servers, dict):
        raise Refused(f"{path}: a table called mcpServers was expected")
    _set(cast("dict[str, object]", servers), name, None if entry is None else dict(entry), path)
    write_private(path, f"{json.dumps(data, indent=2, ensure_ascii=False)}\n".encode(), mode=0o644)


def _change_toml(path: Path, name: str, entry: Mapping[str, object] | None) -> None:
    """Set or remove a server in a config.toml; comments stay. Raises Refused and OSError."""
    import tomlkit  # 30 ms that the other actions need not wait for
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(_read(path))
        mcp = document.setdefault("mcp", tomlkit.table(is_super_table=True))
        servers = mcp.setdefault("servers", tomlkit.table(is_super_table=True))
    except (TOMLKitError, AttributeError, RecursionError) as error:
        raise Refused(f"{path}: cannot be changed: {error}") from error
    _set(servers, name, None if entry is None else _toml_table(entry), path)
    if not servers:
        del mcp["servers"]
    if not mcp:
        del document["mcp"]
    write_private(path, tomlkit.dumps(document).encode())


def _toml_table(entry: Mapping[str, object]) -> object:
    import tomlkit

    table = tomlkit.table()
    for key, value in entry.items():
        table.add(key, value)
    return table


def _set(servers: dict[str, object], name: str, entry: object, path: Path) -> None:
    """Raises Refused."""
    if entry is None and name not in servers:
        raise Refused(f"{path} has no MCP server {name!r}")
    if entry is not None and name in servers:
        raise Refused(f"{path} has an MCP server {name!r} already; remove it first")
    if entry is None:
        del servers[name]
    else:
        servers[name] = entry

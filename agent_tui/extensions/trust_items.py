"""Lists what a project would run or change once it is trusted, each with the very words it would use."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from agent_tui.extensions.front_matter import Unreadable, read_document
from agent_tui.extensions.trust_content import MAX_KEPT_BYTES, NAMES, Content

_TABLE: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue], config={"defer_build": True})
_DYNAMIC = re.compile(r"!`([^`]+)`|^!\s*(\S.*)$", re.MULTILINE)
_TIGHTENS = ("permissions.deny", "permissions.ask")
MAX_DETAIL_CHARS = 2_000
MAX_LISTED = 500


@dataclass(frozen=True)
class TrustItem:
    """One thing that would happen. `kind` is hook, MCP server, tool, extension, skill, command, permission,
    environment, setting or unreadable; `detail` is what would run or apply; `file` is relative to the project."""

    kind: str
    name: str
    detail: str
    file: str


def trust_items(content: Content) -> tuple[TrustItem, ...]:
    """List what the configuration in `content` would run or change, in the order of its files."""
    items: list[TrustItem] = []
    for name in sorted(content.entries):
        if content.path(name).is_file():
            items += _of_file(content.path(name), name)
    items += _skills(content)
    return tuple(dict.fromkeys(items))[:MAX_LISTED]


def _of_file(path: Path, name: str) -> Iterator[TrustItem]:
    parts = name.split("/")
    family = next(index for index, part in enumerate(parts) if part in NAMES)
    inside = tuple(parts[family + 1 :])
    if path.name == ".envrc":
        yield TrustItem("environment", ".envrc", "is not read by agent-tui; direnv would run it", name)
    elif path.suffix in (".toml", ".json") and len(inside) <= 1:
        yield from _settings(path, name)
    elif inside[:1] in (("tools",), ("extensions",), ("hooks",)) and path.suffix != ".md":
        detail = _started_by(path) if inside[0] == "extensions" else ""
        yield TrustItem(inside[0].removesuffix("s"), "/".join(inside[1:]), detail or _code_detail(path), name)
    elif path.suffix == ".md" and inside[:1] in (("commands",), ("agents",), ("skills",)):
        for command in _commands_in(path):
            yield TrustItem("command", "/".join(inside), command, name)
        if inside[0] != "agents" and (rules := _allowed_tools(path)):
            yield TrustItem("permission", "/".join(inside), f"allows while it runs: {rules}", name)


def _started_by(path: Path) -> str:
    """Say what an extension's manifest starts, "" for another file."""
    if path.suffix != ".toml":
        return ""
    try:
        table = dict(_table(path))
    except ValueError as error:
        return f"cannot be read: {error}"
    words = table.pop("command", None)
    shown = " ".join(map(str, words)) if isinstance(words, list) else json.dumps(words)
    return (f"runs {shown} {json.dumps(table)}" if table else f"runs {shown}")[:MAX_DETAIL_CHARS]


def _allowed_tools(path: Path) -> str:
    try:
        return ", ".join(read_document(path, needs_head=False).rules("allowed-tools"))
    except Unreadable:
        return ""  # what cannot be read is not used either


def _code_detail(path: Path) -> str:
    return f"code of {path.stat().st_size:,} bytes"


def _skills(content: Content) -> Iterator[TrustItem]:
    """Give the skills that bring files other than text."""
    for name in content.entries:
        if not name.endswith("/SKILL.md"):
            continue
        folder = name.removesuffix("SKILL.md")
        code = [
            other.removeprefix(folder)
            for other, entry in content.entries.items()
            if other.startswith(folder) and entry.kind != "folder" and not other.endswith((".md", ".txt"))
        ]
        if code:
            yield TrustItem(
                "skill", folder.rstrip("/").rpartition("/")[2], "brings " + ", ".join(sorted(code)), name
            )


def _commands_in(path: Path) -> list[str]:
    found = _DYNAMIC.findall(_text(path))
    return [f"runs {(quoted or line)[:MAX_DETAIL_CHARS]}" for quoted, line in found]


def _settings(path: Path, name: str) -> Iterator[TrustItem]:
    try:
        table = _table(path)
    except ValueError as error:
        yield TrustItem("unreadable", path.name, f"cannot be read: {error}", name)
        return
    for key, value in table.items():
        match key:
            case "mcpServers" | "mcp_servers" | "mcp" | "servers":
                yield from _servers({key: value}, name)
            case "hooks":
                for where, command in _hooks(value):
                    yield TrustItem("hook", where, command, name)
            case "env":
                for where, text in _strings(value):
                    yield TrustItem("environment", where, text, name)
            case _:
                yield from _plain(key, value, name)


def _hooks(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Give each hook of ours as its event with its matcher, and its command; of any other shape every leaf."""
    if not isinstance(value, dict):
        yield from _strings(value)
        return
    for event, tables in value.items():
        for index, table in enumerate(tables if isinstance(tables, list) else [tables]):
            command = table.get("command") if isinstance(table, dict) else None
            if isinstance(table, dict) and isinstance(command, str):
                yield f"{event} {table.get('matcher') or ''}".strip(), command[:MAX_DETAIL_CHARS]
            else:
                yield from _strings(table, f"{event}[{index}]")


def _plain(key: str, value: JsonValue, name: str) -> Iterator[TrustItem]:
    for where, text in _strings(value, key):
        place = re.sub(r"\[\d+\]", "", where)
        if place in _TIGHTENS or where.startswith("$schema"):
            continue
        kind = "permission" if place == "permissions.allow" else "setting"
        yield TrustItem(kind, place, text, name)


def _servers(table: Mapping[str, JsonValue], name: str) -> Iterator[TrustItem]:
    for key in ("mcpServers", "mcp_servers", "mcp", "servers"):
        servers = table.get(key)
        if isinstance(servers, dict) and key == "mcp" and isinstance(servers.get("servers"), dict):
            servers = servers["servers"]  # [mcp.servers.NAME] of a config.toml
        if isinstance(servers, dict):
            for server, spec in servers.items():
                yield TrustItem("MCP server", server, _server_detail(spec), name)


def _server_detail(spec: JsonValue) -> str:
    if not isinstance(spec, dict):
        return json.dumps(spec)[:MAX_DETAIL_CHARS]
    command, arguments = spec.get("command"), spec.get("args")
    words = [command, *(arguments if isinstance(arguments, list) else [])] if command else [spec.get("url")]
    shown = " ".join(str(word) for word in words)
    rest = {key: value for key, value in spec.items() if key not in ("command", "args", "url", "type")}
    return (f"{shown} {json.dumps(rest)}" if rest else shown)[:MAX_DETAIL_CHARS]


def _strings(value: JsonValue, where: str = "") -> Iterator[tuple[str, str]]:
    """Give every leaf with its dotted place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(inner, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, f"{where}[{index}]")
    else:
        yield where, (value if isinstance(value, str) else json.dumps(value))[:MAX_DETAIL_CHARS]


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MAX_KEPT_BYTES).decode("utf-8", "replace")


def _table(path: Path) -> Mapping[str, JsonValue]:
    """Read a JSON or TOML file. Raises ValueError with the reason."""
    text = _text(path).removeprefix("\ufeff")
    try:
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        return _TABLE.validate_python(json.loads(json.dumps(data, default=str)))
    except ValidationError as error:
        raise ValueError("a table is expected") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def summary(items: Sequence[TrustItem]) -> str:
    """Say in one line how many things of each kind there are."""
    kinds = [item.kind for item in items]
    return ", ".join(f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds))

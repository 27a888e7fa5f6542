"""Reads which MCP servers there are: .mcp.json, the settings files and --mcp-config."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from agent_tui.extensions.mcp.spec import Origin, ServerSpec
from agent_tui.protocol.json_text import line_of_key
from agent_tui.protocol.toml_text import TomlFault, line_of, parse_toml

MAX_FILE_BYTES = 1 << 20
MAX_SERVERS = 100
PROJECT_FILE = ".mcp.json"


class SourceFault(ValueError):
    """A text is neither TOML nor JSON: `reason` says why and `line`, 1-based, where; 0 when not known."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"{reason} (line {line})" if line else reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class Found:
    """The servers that were found, by name, and what is wrong with the files themselves.

    `unread` maps each file that could not be read at all to its place in `problems`.
    """

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[str, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict[str, int])

    def problems_beside(self, told: Collection[str]) -> list[str]:
        """Give the problems without those of unreadable files that another reader has `told`."""
        known = {place for file, place in self.unread.items() if file in told}
        return [problem for place, problem in enumerate(self.problems) if place not in known]


@dataclass(frozen=True)
class ServerFiles:
    """The files that servers are written into: a project's .mcp.json and the person's config.toml."""

    project: Path
    user: Path

    @classmethod
    def of(cls, workspace: Path, user_config: Path) -> "ServerFiles":
        """Give the files of a project and a person."""
        return cls(workspace / PROJECT_FILE, user_config)


@dataclass(frozen=True)
class ConfigFiles:
    """Where servers may be described. `given` are files or JSON texts of --mcp-config; `strict` takes only those."""

    user: Path | None
    project: Sequence[Path] = ()
    given: Sequence[str] = ()
    strict: bool = False


def project_places(workspace: Path, *, home: Path) -> list[Path]:
    """Give the project's files, nearest first: of the workspace and of what is above it as far as its git root."""
    above = (workspace, *workspace.parents)
    root = next((place for place in above if (place / ".git").exists()), workspace)
    places = [p for p in above if p.is_relative_to(root) and (p == workspace or p != home)]
    own = [place / ".agent-tui" / name for place in places for name in ("config.local.toml", "config.toml")]
    return [*(place / PROJECT_FILE for place in places), *own]


def find_servers(files: ConfigFiles, *, environ: Mapping[str, str] | None = None) -> Found:
    """Read all files. Of two servers with one name that of --mcp-config counts, then the user's.

    A file or a server that cannot be used costs only itself.
    """
    values = os.environ if environ is None else environ
    found: dict[str, ServerSpec] = {}
    problems: list[str] = []
    unread: dict[str, int] = {}
    places: list[tuple[Origin, Sequence[str | Path]]] = [("flag", files.given)]
    if not files.strict:
        places.append(("user", [files.user] if files.user is not None else []))
        places.append(("project", files.project))
    for origin, sources in places:
        for source in sources:
            try:
                specs = read_source(source, origin=origin, environ=values)
            except ValueError as error:
                unread[_label(source)] = len(problems)
                problems.append(f"{_label(source)}{_told(error)}")
                continue
            is_ours = (
                isinstance(source, Path) and source.suffix == ".toml"
            )  # others write into the JSON files, too
            for spec in specs:
                if is_ours:
                    problems += [
                        f"{spec.place(key)}: the MCP server {spec.name!r}: {said}"
                        for key, said in spec.unknown.items()
                    ]
                first = found.setdefault(spec.name, spec)
                if first is not spec:
                    problems.append(
                        f"{spec.file}: the MCP server {spec.name!r} is left out: {first.file} has one of that name"
                    )
    if len(found) > MAX_SERVERS:
        problems.append(f"more than {MAX_SERVERS} MCP servers are configured; the rest is left out")
    return Found(tuple(found.values())[:MAX_SERVERS], tuple(problems), unread)


def _label(source: str | Path) -> str:
    return "--mcp-config" if isinstance(source, str) and source.lstrip().startswith("{") else str(source)


def _told(error: ValueError) -> str:
    """Say what is wrong with a file, behind its name."""
    if isinstance(error, SourceFault) and error.line:
        return f":{error.line}: {error.reason}"
    return f": {error}"


def read_source(source: str | Path, *, origin: Origin, environ: Mapping[str, str]) -> list[ServerSpec]:
    """Read a file or a JSON text; a file that is not there gives none. Raises ValueError with the reason."""
    label = _label(source)
    is_toml = False
    if isinstance(source, str) and label == "--mcp-config":
        text, table = "", _json(source)
    else:
        text = read_text(Path(source))
        if text is None:
            if origin == "flag":
                raise ValueError("there is no such file")
            return []
        is_toml = Path(source).suffix == ".toml"
        table = _toml(text) if is_toml else _json(text)
    servers = _servers(table, text, is_toml=is_toml)
    if not servers:
        if origin == "flag" and table and not table.keys() & {"mcpServers", "servers"}:
            raise ValueError("has no table of servers")  # a misspelt one would be taken for none
        return []
    from agent_tui.extensions.mcp.entries import read_entry  # 4 ms of CPU (pydantic), with the first server

    specs = [read_entry(name, entry, origin, label, environ) for name, entry in servers.items()]
    return [_with_lines(spec, text, is_toml=is_toml) for spec in specs]


def _with_lines(spec: ServerSpec, text: str, *, is_toml: bool) -> ServerSpec:
    """Find the lines of what is wrong with a server; `text` is "" for one of the command line."""
    if not text or not (spec.problem or spec.unknown):
        return spec

    def line(key: str) -> int:
        if is_toml:
            whole = f"mcp.servers.{spec.name}"
            return line_of(text, f"{whole}.{key}") or line_of(text, whole)
        return line_of_key(text, spec.name, *key.split("."))

    key = spec.problem.partition(": ")[0] if ": " in spec.problem else ""
    return replace(spec, lines={"": line(key), **{one: line(one) for one in spec.unknown}})


def read_text(path: Path) -> str | None:
    """Read a regular file of at most 1 MiB, None when there is none. Raises ValueError."""
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise ValueError("is not a regular file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"is larger than {MAX_FILE_BYTES:,} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8") from error


def _json(text: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise SourceFault(f"is not valid JSON: {error.msg}", error.lineno) from error
    return _table(value)


def _toml(text: str) -> dict[str, object]:
    try:
        table = parse_toml(text).get("mcp", {})
    except TomlFault as error:
        raise SourceFault(f"is not valid TOML: {error.reason}", error.line) from error
    if not isinstance(table, dict):
        raise SourceFault("mcp: a table is expected", line_of(text, "mcp"))
    return cast("dict[str, object]", table)


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a table was expected")
    return cast("dict[str, object]", value)


def _servers(table: dict[str, object], text: str, *, is_toml: bool) -> dict[str, object]:
    key = next((key for key in ("mcpServers", "servers") if key in table), "")
    servers = table.get(key, {})
    if not isinstance(servers, dict):
        whole = f"mcp.{key}" if is_toml else key
        line = line_of(text, whole) if is_toml else line_of_key(text, key)
        raise SourceFault(f"{whole}: a table is expected", line)
    return cast("dict[str, object]", servers)

"""Reads which MCP servers there are: .mcp.json, the settings files and --mcp-config."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_tui.extensions.mcp.oauth_config import OAuthClient, read_oauth

MAX_FILE_BYTES = 1 << 20
MAX_SERVERS = 100
START_S = 30.0
CALL_S = 60.0
PROJECT_FILE = ".mcp.json"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


Origin = Literal["flag", "user", "project"]
Transport = Literal["stdio", "http", "sse"]


@dataclass(frozen=True)
class ServerSpec:
    """One server as it is to be started. `file` says where it is described; `problem` why it cannot be used.

    `start_s` limits connecting and listing, `call_s` one call, both in seconds. `tools` limits which are offered,
    by the server's own names; None means all.
    """

    name: str
    origin: Origin
    file: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    start_s: float = START_S
    call_s: float = CALL_S
    enabled: bool = True
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    problem: str = ""
    oauth: OAuthClient = OAuthClient()

    @property
    def signs_in(self) -> bool:
        """Whether a person may sign in: it is asked over HTTP and nothing of its own is configured for it."""
        return bool(self.url) and not _holds_key(self.headers) and self.oauth.grant == "authorization_code"

    @property
    def target(self) -> str:
        """What is started or asked, for a person; a query and user of a URL are left out: they may hold secrets."""
        if not self.url:
            return " ".join([self.command, *self.args])
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def identity(self) -> str:
        """A hash of what is started or asked: another program under the same name is another server."""
        words = json.dumps([self.transport, self.command, self.args, self.cwd, self.url])
        return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]


class _Entry(BaseModel):
    """A server as people write it down."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: str = ""
    transport: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str | int | float | bool] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    startup_timeout_s: float = Field(default=START_S, gt=0, le=600)
    timeout_s: float = Field(default=CALL_S, gt=0, le=3600)
    enabled: bool = True
    disabled: bool = False
    tools: tuple[str, ...] | None = None
    disabled_tools: tuple[str, ...] = ()
    oauth: OAuthClient = OAuthClient()


_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


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
                problems.append(f"{_label(source)}: {error}")
                continue
            for spec in specs:
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


def read_source(source: str | Path, *, origin: Origin, environ: Mapping[str, str]) -> list[ServerSpec]:
    """Read a file or a JSON text; a file that is not there gives none. Raises ValueError with the reason."""
    label = _label(source)
    if isinstance(source, str) and label == "--mcp-config":
        table = _json(source)
    else:
        text = read_text(Path(source))
        if text is None:
            if origin == "flag":
                raise ValueError("there is no such file")
            return []
        table = _toml(text) if Path(source).suffix == ".toml" else _json(text)
    return [_spec(name, entry, origin, label, environ) for name, entry in _servers(table).items()]


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
        raise ValueError(f"is not valid JSON: {error.msg} (line {error.lineno})") from error
    return _table(value)


def _toml(text: str) -> dict[str, object]:
    try:
        return _table(tomllib.loads(text).get("mcp", {}))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not valid TOML: {error}") from error


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a table was expected")
    return cast("dict[str, object]", value)


def _servers(table: dict[str, object]) -> dict[str, object]:
    for key in ("mcpServers", "servers"):
        if key in table:
            return _table(table[key])
    return {}


def _spec(name: str, entry: object, origin: Origin, file: str, environ: Mapping[str, str]) -> ServerSpec:
    """Check and expand one server; what is wrong with it stands in `problem`."""
    broken = ServerSpec(name=name, origin=origin, file=file)
    if not name.strip() or len(name) > 200:
        return _with_problem(broken, "the name is empty or too long")
    expand = _Expander(environ)
    try:
        plain = _Entry.model_validate(entry)
        spec = _expanded(broken, plain, expand)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _with_problem(broken, f"{where}: {first['msg']}")
    except ValueError as error:
        return _with_problem(broken, expand.problem or str(error))
    return _with_problem(spec, expand.problem) if expand.problem else spec


def _with_problem(spec: ServerSpec, problem: str) -> ServerSpec:
    return ServerSpec(
        name=spec.name,
        origin=spec.origin,
        file=spec.file,
        transport=spec.transport,
        enabled=spec.enabled,
        problem=problem,
    )


def _expanded(base: ServerSpec, entry: _Entry, expand: "_Expander") -> ServerSpec:
    """Raises ValueError when the server says neither what to start nor what to ask."""
    if bool(entry.command.strip()) == bool(entry.url.strip()):
        raise ValueError("exactly one of command and url is needed")
    kind = entry.type or entry.transport
    transport = _TRANSPORTS.get(kind) if kind else ("http" if entry.url else "stdio")
    if transport is None or (transport == "stdio") == bool(entry.url):
        raise ValueError(f"the type {kind!r} does not fit; use stdio with command, http or sse with url")
    url = expand(entry.url.strip())
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
        raise ValueError("the url must begin with http:// or https://")
    headers = {key: expand(value) for key, value in entry.headers.items()}
    oauth = read_oauth(entry.oauth, expand)
    if oauth.grant != "authorization_code" and (not url or _holds_key(headers)):
        raise ValueError(f"oauth.grant {oauth.grant!r} is for a url without an Authorization header")
    return ServerSpec(
        name=base.name,
        origin=base.origin,
        file=base.file,
        transport=transport,
        command=expand(entry.command.strip()),
        args=tuple(expand(word) for word in entry.args),
        env={key: expand(str(value)) for key, value in entry.env.items()},
        cwd=expand(entry.cwd),
        url=url,
        headers=headers,
        start_s=entry.startup_timeout_s,
        call_s=entry.timeout_s,
        enabled=entry.enabled and not entry.disabled,
        tools=entry.tools,
        without=entry.disabled_tools,
        oauth=oauth,
    )


def _holds_key(headers: Mapping[str, str]) -> bool:
    return any(name.casefold() == "authorization" for name in headers)


class _Expander:
    """Puts variables in place of `${NAME}` and `${NAME:-default}`; remembers which there are not."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.missing: set[str] = set()

    @property
    def problem(self) -> str:
        """Say which variables there are not, "" when there are all."""
        names = ", ".join(sorted(self.missing))
        return f"the environment variable {names} is not set" if names else ""

    def __call__(self, text: str) -> str:
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        value = self._environ.get(name, "")
        if value or (default is None and name in self._environ):
            return value
        if default is None:
            self.missing.add(name)
        return default or ""

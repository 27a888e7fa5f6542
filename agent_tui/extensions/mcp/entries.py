"""Reads one MCP server as people write it down; loaded with the first one that is configured."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_tui.extensions.mcp.oauth_config import OAuthClient, read_oauth
from agent_tui.extensions.mcp.spec import CALL_S, START_S, Origin, ServerSpec, Transport, holds_key
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import first_misfit

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


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


def read_entry(name: str, entry: object, origin: Origin, file: str, environ: Mapping[str, str]) -> ServerSpec:
    """Check and expand one server; what is wrong with it stands in `problem`."""
    broken = ServerSpec(name=name, origin=origin, file=file)
    if not name.strip() or len(name) > 200:
        return _with_problem(broken, "the name is empty or too long")
    expand = _Expander(environ)
    try:
        plain = _Entry.model_validate(entry)
        spec = _expanded(broken, plain, expand)
    except ValidationError as error:
        return _with_problem(broken, first_misfit(error))
    except ValueError as error:
        return _with_problem(broken, expand.problem or str(error))
    spec = replace(spec, unknown=_unknown_keys(entry))
    return _with_problem(spec, expand.problem) if expand.problem else spec


def _unknown_keys(entry: object) -> dict[str, str]:
    """Say which keys of a server mean nothing here, each with the nearest that does."""
    known = _Entry.model_fields
    return {
        key: f"unknown key {key!r}{did_you_mean(key, known, otherwise='')}"
        for key in cast("Mapping[str, object]", entry)
        if key not in known
    }


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
    if oauth.grant != "authorization_code" and (not url or holds_key(headers)):
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

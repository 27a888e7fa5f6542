"""What is known of an MCP server before it is started."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:  # with the first server: pydantic models, 2 ms of CPU
    from agent_tui.extensions.mcp.oauth_config import OAuthClient

START_S = 30.0
CALL_S = 60.0

Origin = Literal["flag", "user", "project"]
Transport = Literal["stdio", "http", "sse"]


def _unknown_client() -> "OAuthClient":
    from agent_tui.extensions.mcp.oauth_config import OAuthClient

    return OAuthClient()


@dataclass(frozen=True)
class ServerSpec:
    """One server as it is to be started. `file` says where it is described; `problem` why it cannot be used.

    `unknown` holds the keys of its description that mean nothing here, each with what is said of it. `lines` are those
    of such keys, 1-based, and under "" that of `problem`.

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
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    oauth: "OAuthClient" = field(default_factory=_unknown_client)

    def place(self, key: str = "") -> str:
        """Name the file, with the line of a key that means nothing or of the problem where it is known."""
        line = self.lines.get(key, 0)
        return f"{self.file}:{line}" if line else self.file

    @property
    def signs_in(self) -> bool:
        """Whether a person may sign in: it is asked over HTTP and nothing of its own is configured for it."""
        return bool(self.url) and not holds_key(self.headers) and self.oauth.grant == "authorization_code"

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


def holds_key(headers: Mapping[str, str]) -> bool:
    """Tell whether the headers say who asks."""
    return any(name.casefold() == "authorization" for name in headers)

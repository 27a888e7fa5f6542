"""Looks for model servers on this machine; it lists their models and never sends them anything else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from agent_tui.protocol.data import JsonObject
from agent_tui.providers.profiles import PROFILES

PROBE_TIMEOUT_S = 0.5
MAX_BODY_BYTES = 2_000_000


@dataclass(frozen=True)
class LocalServer:
    """A server that answered. `provider` is the profile's name, `models` what it offers."""

    provider: str
    title: str
    base_url: str
    models: tuple[str, ...]

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.base_url.rsplit(":", 1)[1].split("/")[0])


async def probe(
    candidates: Sequence[tuple[str, str]] | None = None, *, timeout_s: float = PROBE_TIMEOUT_S
) -> list[LocalServer]:
    """Ask the usual ports for their list of models, all at once; give those that have one.

    `candidates` are pairs of provider name and base URL; by default every local profile at its own port. A server
    is only ever offered to the person: nothing here chooses one.
    """
    wanted = candidates or [(p.name, p.base_url) for p in PROFILES.values() if p.is_local]
    found: list[LocalServer | None] = [None] * len(wanted)

    async def look(index: int, provider: str, base_url: str) -> None:
        found[index] = await _ask(provider, base_url, timeout_s)

    async with asyncio.TaskGroup() as group:
        for index, (provider, base_url) in enumerate(wanted):
            group.create_task(look(index, provider, base_url))
    return [server for server in found if server is not None]


async def _ask(provider: str, base_url: str, timeout_s: float) -> LocalServer | None:
    import httpx  # 106 ms of CPU: not before first paint

    try:
        async with (
            asyncio.timeout(timeout_s),
            # Without TLS there is nothing to verify, and reading the certificates takes 40 ms for each server.
            httpx.AsyncClient(trust_env=False, follow_redirects=False, verify=False) as client,  # noqa: S501 - as said above
            client.stream("GET", f"{base_url}/models") as response,
        ):
            if response.status_code != 200:
                return None
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    return None
    except (httpx.HTTPError, TimeoutError, OSError):
        return None
    return _server(provider, base_url, body)


def _server(provider: str, base_url: str, body: bytes) -> LocalServer | None:
    """Read the list; None when it is none, as from any other program on that port."""
    import jiter

    try:
        parsed: object = jiter.from_json(body)
    except ValueError:
        return None
    data = cast(JsonObject, parsed).get("data") if isinstance(parsed, dict) else None
    if not isinstance(data, list):
        return None
    rows = [row for row in data if isinstance(row, dict)]
    names = tuple(name for row in rows if isinstance(name := row.get("id"), str))
    owners = {str(row.get("owned_by", "")).lower() for row in rows}
    name = next((n for n in ("vllm", "llamacpp") if n in owners), provider)
    return LocalServer(name, PROFILES[name].title, base_url, names)

"""Which model answers: from the settings, by name, or found on this machine."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib import import_module

from agent_tui.config.paths import Paths
from agent_tui.config.settings import Settings
from agent_tui.conversation.desk import Desk
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.events import Retrying
from agent_tui.providers.connect import (
    OFFLINE_MODEL,
    PROVIDERS,
    Choice,
    ProviderSpec,
    provider_of,
    with_model,
)
from agent_tui.providers.loopback import LocalServer
from agent_tui.providers.loopback import probe as probe_servers
from agent_tui.providers.retry import RetryNotice
from agent_tui.run.options import split_names


def provider_spec(settings: Settings, paths: Paths) -> ProviderSpec:
    """Give what the settings say about the model."""
    model = settings.model
    return ProviderSpec(
        provider=model.provider,
        model=model.name,
        base_url=model.base_url,
        key_command=model.key_command,
        key_file=paths.keys,
        fallbacks=model.fallback,
        overrides=model.facts,
        pace_s=0.004 if os.environ.get("AGENT_TUI_TEST_PACE") is None else 0.0,
    )


def named_model(spec: ProviderSpec, name: str) -> ProviderSpec:
    """Give the spec with the model called `name`, which may be PROVIDER:MODEL."""
    provider, colon, model = name.partition(":")
    if colon and provider in PROVIDERS:
        return replace(_keyless(spec, provider), provider=provider, model=model, base_url="")
    owner = provider_of(name)
    if owner and not spec.base_url and spec.provider in ("anthropic", "openai", "offline"):
        return replace(_keyless(spec, owner), provider=owner, model=name)
    return with_model(spec, name)


def check_fallbacks(given: str, choice: Choice) -> None:
    """Refuse names of --fallback-model whose provider cannot be told: the offline model has no others beside it.

    Raises UsageError.
    """
    for name in split_names(given) if choice.provider == "offline" else ():
        if name != OFFLINE_MODEL and name.partition(":")[0] not in PROVIDERS:
            raise UsageError(
                f"Who has the model {name!r}? Set a key, or name its provider: --fallback-model PROVIDER:{name}."
            )


def _keyless(spec: ProviderSpec, provider: str) -> ProviderSpec:
    """Give the spec without what names a key, unless it is for this provider: no other server may see it."""
    return spec if spec.provider == provider else replace(spec, api_key="", key_command="")


async def local_servers(
    look: Callable[[], Awaitable[Sequence[LocalServer]]] = probe_servers,
) -> Sequence[str]:
    """Name the model servers that answer on this machine. None is chosen and none is sent a prompt."""
    await asyncio.to_thread(import_module, "httpx")  # 106 ms of CPU that the screen need not wait for
    return [
        f"{server.title} answers on port {server.port}. To use it: /model {server.provider}:{server.models[0]}"
        for server in await look()
        if server.models
    ]


def retry_teller(desk: Desk) -> Callable[[RetryNotice], Awaitable[None]]:
    """Give what tells a retry as an event of the running turn."""

    async def tell(notice: RetryNotice) -> None:
        await desk.tell(
            Retrying(
                turn_id=desk.turn_id,
                attempt=notice.attempt,
                max_attempts=notice.max_attempts,
                wait_s=notice.wait_s,
                reason=f"{notice.reason} ({notice.fallback} takes over)"
                if notice.fallback
                else notice.reason,
            )
        )

    return tell

"""Chooses a provider and model by what the person named and which keys there are, and makes it."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import AuthError, BadResponse, UsageError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.providers._warm import calmly, load_sdk
from agent_tui.providers.base import Provider
from agent_tui.providers.keys import Key, advice, find_key, stored_names
from agent_tui.providers.models import OFFLINE_MODEL, ModelTable, load_table
from agent_tui.providers.profiles import PROFILES, Profile, normal_base_url, profile_for
from agent_tui.providers.retry import RetryingProvider, RetryPolicy

ANTHROPIC_PLATFORMS = ("anthropic", "bedrock", "vertex")
PROVIDERS = (*ANTHROPIC_PLATFORMS, *PROFILES, "offline")


@dataclass(frozen=True)
class ProviderSpec:
    """What the person asked for; every field may be empty.

    `overrides` are rows of the model table by name. `pace_s` slows the offline model's words.
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    key_command: str = ""
    key_file: Path | None = None
    fallbacks: tuple[str, ...] = ()
    overrides: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    policy: RetryPolicy = RetryPolicy()
    pace_s: float = 0.0


@dataclass(frozen=True)
class Choice:
    """What will be asked, and why, for the status line."""

    provider: str
    model: str
    base_url: str
    reason: str


def choose(
    spec: ProviderSpec, *, environ: Mapping[str, str] | None = None, table: ModelTable | None = None
) -> Choice:
    """Decide without connecting: what was named, else by the keys in the environment, else by a stored key, else offline.

    Raises UsageError for a provider that does not exist, and when a model must be named.
    """
    env = os.environ if environ is None else environ
    rows = table or load_table(spec.overrides)
    spec = _split(spec)
    provider, reason = _provider(spec, env)
    if provider not in PROVIDERS:
        raise UsageError(f"No provider named {provider!r}{did_you_mean(provider, PROVIDERS, end='.')}")
    if provider == "offline":
        return Choice(provider, OFFLINE_MODEL, "", reason)
    if provider in ANTHROPIC_PLATFORMS:
        base_url = spec.base_url or env.get("ANTHROPIC_BASE_URL", "")
        if provider == "anthropic" and not base_url:
            _refuse_colon(spec.model)
        return Choice(provider, spec.model or rows.default_model("anthropic"), base_url.rstrip("/"), reason)
    base_url = spec.base_url or env.get(PROFILES[provider].url_variable, "")
    if provider == "openai" and not base_url and not spec.model.startswith("ft:"):
        _refuse_colon(spec.model)
    profile = profile_for(provider, base_url)
    if not base_url and not profile.base_url:
        raise UsageError(f"Where is {profile.title}? Set {profile.url_variable}, or name it with --base-url.")
    model = spec.model or rows.default_model(profile.name)
    url = normal_base_url(base_url or profile.base_url)
    if not model:
        raise UsageError(
            f"Which model of {url}? Name one with --model; `agent-tui models --base-url {url}` lists them."
        )
    return Choice(provider, model, url, reason)


def _refuse_colon(model: str) -> None:
    """Refuse WORD:MODEL where no model's name has a colon: the word was meant as a provider. Raises UsageError."""
    word, colon, _ = model.partition(":")
    if colon and word not in PROVIDERS:
        meant = did_you_mean(word, PROVIDERS, end=".")
        raise UsageError(f"No provider named {word!r}, as the model {model!r} has it{meant}")


def _split(spec: ProviderSpec) -> ProviderSpec:
    """Read a model named as "provider/model", as in ollama/qwen3, when neither provider nor URL was named."""
    provider, slash, model = spec.model.partition("/")
    if not slash or not model or provider not in PROVIDERS or spec.provider or spec.base_url:
        return spec
    return replace(spec, provider=provider, model=model)


def _provider(spec: ProviderSpec, env: Mapping[str, str]) -> tuple[str, str]:
    if spec.provider:
        return spec.provider, "named"
    if spec.base_url:
        return "openai", "by the base URL"
    if spec.model:
        named = provider_of(spec.model)
        if named:
            return named, "by the model's name"
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        if env.get(variable):
            return "anthropic", f"by {variable}"
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        if env.get(variable):
            return "openai", f"by {variable}"
    stored = stored_names(spec.key_file)
    for name in PROVIDERS:
        if name in stored:
            return name, "by the stored key"
    if spec.model:
        raise UsageError(
            f"Who has the model {spec.model!r}? Set a key, or name its provider: --model PROVIDER:{spec.model}."
        )
    return "offline", "no key is set"


def provider_of(model: str) -> str:
    """The provider whose own models begin like this; "" when it cannot be told."""
    if model == OFFLINE_MODEL:
        return "offline"
    if model.startswith("claude-"):
        return "anthropic"
    if model.startswith(("gpt-", "o1", "o3", "o4")) and "/" not in model and ":" not in model:
        return "openai"
    return ""


def connect(spec: ProviderSpec, *, environ: Mapping[str, str] | None = None) -> RetryingProvider:
    """Make the chosen provider, with retries and fallback models; no request is sent yet.

    Imports no SDK. A key command may take up to 30 s: call from a thread when a screen is running. Raises
    UsageError, AuthError.
    """
    env = os.environ if environ is None else environ
    table = load_table(spec.overrides)
    spec = _split(spec)
    choice = choose(spec, environ=env, table=table)
    made = [_make(spec, choice, table, env)]
    for name in spec.fallbacks:
        other = _named(spec, choice, name)
        if other.model != choice.model or other.provider != choice.provider:
            made.append(_make(other, choose(other, environ=env, table=table), table, env))
    return RetryingProvider(made[0], fallbacks=made[1:], policy=spec.policy)


def _named(spec: ProviderSpec, choice: Choice, name: str) -> ProviderSpec:
    """Give the spec of a fallback: PROVIDER:MODEL, else another model of the same server."""
    provider, colon, model = name.partition(":")
    if colon and provider in PROVIDERS:
        return replace(spec, provider=provider, model=model, base_url="", api_key="", key_command="")
    return replace(spec, provider=choice.provider, model=name)


def _make(spec: ProviderSpec, choice: Choice, table: ModelTable, env: Mapping[str, str]) -> Provider:
    if choice.provider == "offline":
        from agent_tui.providers.offline import OfflineProvider  # 10 ms of CPU, only when chosen

        return OfflineProvider(pace_s=spec.pace_s)
    make = _anthropic if choice.provider in ANTHROPIC_PLATFORMS else _openai
    return make(spec, choice, table, env)


async def list_models(spec: ProviderSpec, *, environ: Mapping[str, str] | None = None) -> Sequence[str]:
    """Ask the chosen server which models it has; none needs to be named. Raises ProviderError, UsageError."""
    spec = _split(spec)
    named, _ = _provider(spec, os.environ if environ is None else environ)
    spec = replace(spec, provider=named, model=spec.model or "any", fallbacks=())
    provider = connect(spec, environ=environ)
    try:
        return await provider.models()
    except BadResponse as error:
        if error.status != 404:
            raise
        raise BadResponse(
            f"The server of {provider.name} lists no models (404). Name one with --model, or check the base URL.",
            status=404,
        ) from error
    finally:
        await provider.aclose()


def _anthropic(spec: ProviderSpec, choice: Choice, table: ModelTable, env: Mapping[str, str]) -> Provider:
    from agent_tui.providers.anthropic import (
        AnthropicProvider,
    )  # 40 ms of CPU with its parts, only when chosen

    platform: Literal["anthropic", "bedrock", "vertex"] = "anthropic"
    if choice.provider == "bedrock" or choice.provider == "vertex":
        platform = choice.provider
    key, token, source = spec.api_key, "", ""
    if not key and platform == "anthropic":
        found = find_key(
            "anthropic",
            ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            environ=env,
            command=spec.key_command,
            key_file=spec.key_file,
        )
        if found is None and not _is_loopback(choice.base_url):
            raise AuthError(f"There is no key for Anthropic. {advice('anthropic', 'ANTHROPIC_API_KEY')}")
        source = found.source if found is not None else ""
        if found is not None and found.source == "ANTHROPIC_AUTH_TOKEN":
            token = found.value
        elif found is not None:
            key = found.value
    return AnthropicProvider(
        table.facts("anthropic", choice.model),
        api_key=key,
        auth_token=token,
        base_url=choice.base_url,
        platform=platform,
        key_hint=advice("anthropic", "ANTHROPIC_API_KEY", source=source)
        if platform == "anthropic"
        else "Check the credentials of the cloud.",
    )


def _openai(spec: ProviderSpec, choice: Choice, table: ModelTable, env: Mapping[str, str]) -> Provider:
    from agent_tui.providers.openai_compatible import OpenAICompatibleProvider  # only when chosen

    profile = profile_for(choice.provider, choice.base_url)
    found = None if spec.api_key else _openai_key(spec, choice, profile, env)
    source = found.source if found else ""
    return OpenAICompatibleProvider(
        table.facts(profile.name, choice.model),
        profile=profile,
        api_key=found.value if found else spec.api_key,
        base_url=choice.base_url,
        key_hint=advice(_key_name(profile), profile.key_variables[0], source=source)
        if profile.key_variables
        else "Check what key the server wants.",
    )


def _openai_key(spec: ProviderSpec, choice: Choice, profile: Profile, env: Mapping[str, str]) -> Key | None:
    if profile.is_local and not spec.key_command:
        return None
    found = find_key(
        _key_name(profile),
        profile.key_variables,
        environ=env,
        command=spec.key_command,
        key_file=spec.key_file,
    )
    if found is not None:
        return found
    if profile.name in PROFILES and not profile.is_local:
        raise AuthError(
            f"There is no key for {profile.title}. {advice(profile.name, profile.key_variables[0])}"
        )
    return None


def _key_name(profile: Profile) -> str:
    """Under which name the key of a server is kept."""
    return profile.name if profile.name in PROFILES else "openai"


def _is_loopback(base_url: str) -> bool:
    return base_url.split("://", 1)[-1].startswith(("127.", "localhost", "[::1]"))


def warm_up(provider: str, *, first: Callable[[], None] = lambda: None) -> None:
    """Import the SDK a provider needs, about a second of CPU, and do `first` before; call it in a thread.

    Others than these need none.
    """
    with calmly():
        first()
        if provider in ANTHROPIC_PLATFORMS:
            load_sdk("anthropic")
        elif provider in PROFILES:
            load_sdk("openai")


def with_model(spec: ProviderSpec, model: str) -> ProviderSpec:
    """Give the spec with another model, as /model sets it."""
    return replace(spec, model=model)

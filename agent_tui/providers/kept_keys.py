"""Keeps the keys of providers as a person says: checks, stores, forgets and lists them."""

import os
from collections.abc import Mapping
from pathlib import Path

from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.providers.connect import ANTHROPIC_PLATFORMS, PROFILES
from agent_tui.providers.keys import find_key, remove_key, store_key

ANTHROPIC_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_ODD = str.maketrans({"“": None, "”": None, '"': None, "'": None})
MAX_KEY_CHARS = 4_096


def key_names() -> Mapping[str, tuple[str, ...]]:
    """Give the providers that take a key, each with its environment variables."""
    hosted = {name: profile.key_variables for name, profile in PROFILES.items() if not profile.is_local}
    return {"anthropic": ANTHROPIC_VARIABLES, **hosted}


def refuse_inside() -> None:
    """Refuse when the agent itself runs this: it must not change what it is connected to. Raises UsageError."""
    if os.environ.get("AGENT_TUI_CHILD"):
        raise UsageError("keys are changed by a person, not by a command of the agent")


def checked_provider(provider: str) -> str:
    """Give the provider's name. Raises UsageError when it takes no key of ours."""
    if provider in ANTHROPIC_PLATFORMS[1:]:
        raise UsageError(f"{provider} uses the credentials of its cloud, not a key of agent-tui")
    if provider not in key_names():
        raise UsageError(f"no provider {provider!r} takes a key{did_you_mean(provider, key_names())}")
    return provider


def cleaned_key(given: str) -> str:
    """Take blanks and quotes off a key. Raises UsageError when nothing usable is left."""
    key = given.strip().translate(_ODD).strip()
    if not key or len(key) > MAX_KEY_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("that is no key: one word of plain letters, digits and signs is expected")
    return key


def set_key(provider: str, given: str, *, key_file: Path, use_keyring: bool = True) -> str:
    """Keep a key and say where. Raises UsageError, AuthError, OSError."""
    refuse_inside()
    place = store_key(
        checked_provider(provider), cleaned_key(given), key_file=key_file, use_keyring=use_keyring
    )
    return f"The key of {provider} is kept in {place}."


def forget_key(provider: str, *, key_file: Path) -> str:
    """Forget a key and say from where. Raises UsageError, AuthError, OSError."""
    refuse_inside()
    places = remove_key(checked_provider(provider), key_file=key_file)
    return f"Removed from {' and '.join(places)}." if places else f"No key of {provider} was stored."


def status_lines(environ: Mapping[str, str], *, key_file: Path) -> list[str]:
    """Say for each provider where its key would come from; never the key."""
    lines: list[str] = []
    for name, variables in key_names().items():
        found = find_key(name, variables, environ=environ, key_file=key_file)
        lines.append(f"{name:12} {f'key from {found.source}' if found else f'no key; set {variables[0]}'}")
    return lines

"""Gathers the keys this program knows, so that they can be taken out of what is written down."""

import os

from agent_tui.config.paths import Paths
from agent_tui.providers.keys import read_key_file
from agent_tui.providers.profiles import PROFILES


def known_secrets(paths: Paths) -> list[str]:
    """Give the keys of this program, those in the environment and those in its file."""
    names = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "EXA_API_KEY",
        "BRAVE_API_KEY",
        "TAVILY_API_KEY",
        *(name for profile in PROFILES.values() for name in profile.key_variables),
    )
    kept = read_key_file(paths.keys).values() if paths.keys.exists() else ()
    return [value for name in names if (value := os.environ.get(name, "").strip())] + [
        key for key in kept if key
    ]

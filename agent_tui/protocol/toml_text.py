"""Reads TOML that others wrote."""

import tomllib
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """Give the tables. Raises TOMLDecodeError, also for what is nested so deeply that Python gives up."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("The values are nested too deeply") from error

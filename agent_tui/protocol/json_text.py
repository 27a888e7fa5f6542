"""Reads JSON that others wrote."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Give the value. Raises ValueError, also for what is nested so deeply that Python gives up (a RecursionError)."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise json.JSONDecodeError("The values are nested too deeply", "", 0) from error

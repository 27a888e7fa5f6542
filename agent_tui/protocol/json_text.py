"""Reads JSON that others wrote, and finds lines in it."""

import json
import re
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Give the value. Raises ValueError, also for what is nested so deeply that Python gives up (a RecursionError)."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise json.JSONDecodeError("The values are nested too deeply", "", 0) from error


def line_of_key(text: str, *keys: str) -> int:
    """Give the 1-based line of a key in objects in each other, or of the last one around it; 0 when none is found.

    Each is the next of its name behind the one around it: one of the same name deeper inside can be taken for it.
    """
    found = None
    for key in keys:
        after = re.compile(rf"{re.escape(json.dumps(key, ensure_ascii=False))}\s*:")
        following = after.search(text, found.end() if found else 0)
        if following is None:
            break
        found = following
    return text.count("\n", 0, found.start()) + 1 if found else 0

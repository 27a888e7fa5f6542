"""The base of every type that crosses a layer, a process or a file."""

import re

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]
"""A JSON object as Python has it: str, int, float, bool, None, lists and dicts with text as keys."""
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def without_half_pairs(json_text: str) -> str:
    """Give JSON text in which escapes of half a surrogate pair, which are no text, stand for U+FFFD."""
    if "\\ud" not in json_text and "\\uD" not in json_text:
        return json_text
    return _ESCAPE.sub(lambda found: "\\ufffd" if found["half"] else found[0], json_text)


class Data(BaseModel):
    """Frozen, validated data; unknown fields are refused so that a misspelt one is noticed.

    Validators are built on first use, which keeps the import cheap.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

"""Reads fields of JSON that may have any shape: what is not there or has another type is empty."""

from typing import cast

from agent_tui.protocol.data import JsonObject


def obj(data: JsonObject, key: str) -> JsonObject:
    """Give an object; {} when there is none."""
    value = data.get(key)
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def objects(data: JsonObject, key: str) -> list[JsonObject]:
    """Give the objects of a list."""
    value = data.get(key)
    return (
        [cast(JsonObject, item) for item in value if isinstance(item, dict)]
        if isinstance(value, list)
        else []
    )


def string(data: JsonObject, key: str) -> str:
    """Give a text; "" when there is none."""
    value = data.get(key)
    return value if isinstance(value, str) else ""


def integer(data: JsonObject, key: str, default: int = 0) -> int:
    """Give a number."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else default

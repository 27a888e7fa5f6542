"""Reads the arguments of foreign tools and checks them against the top of a schema; whoever runs them checks the rest."""

import json
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError

_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def read_arguments(args_json: str) -> JsonObject:
    """Read arguments that were validated; an empty text is an empty object. Raises ToolError."""
    try:
        value: object = json.loads(args_json.strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The arguments are not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise ToolError("The arguments must be a JSON object.")
    return cast("JsonObject", value)


def arguments_line(arguments: JsonObject) -> str:
    """Give all arguments in one line, each cut at 60 characters; the text is raw."""
    return " ".join(f"{key}={_short(value)}" for key, value in arguments.items())


def _short(value: JsonValue) -> str:
    return value[:60] if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:60]


def wrong_arguments(name: str, args_json: str, schema: JsonObject) -> str | None:
    """Say to the model what is wrong with its arguments, None when nothing is.

    Only names and types of the parameters are compared: a foreign schema is neither followed nor are its patterns run.
    """
    try:
        arguments: object = json.loads(args_json.strip() or "{}")
    except (json.JSONDecodeError, RecursionError) as error:
        return f"The arguments of {name!r} are not valid JSON: {error}"
    if not isinstance(arguments, dict):
        return f"The arguments of {name!r} must be a JSON object."
    given = cast("JsonObject", arguments)
    found = schema.get("properties")
    properties = found if isinstance(found, dict) else {}
    required = schema.get("required")
    lines = [
        f"- the required parameter {key!r} is missing"
        for key in (required if isinstance(required, list) else [])
        if isinstance(key, str) and key not in given
    ]
    for key, value in given.items():
        if key in properties:
            lines += _wrong_value(key, value, properties[key])
        elif schema.get("additionalProperties") is False:
            lines.append(f"- there is no parameter {key!r}")
    if not lines:
        return None
    known = ", ".join(f"{key} ({_type_of(value)})" for key, value in properties.items()) or "none"
    return "\n".join([f"Invalid arguments for {name!r}:", *lines, f"The parameters are: {known}."])


def _wrong_value(key: str, value: JsonValue, schema: JsonValue) -> list[str]:
    if not isinstance(schema, dict):
        return []
    kind = schema.get("type")
    kinds = (
        [kind]
        if isinstance(kind, str)
        else [k for k in kind if isinstance(k, str)]
        if isinstance(kind, list)
        else []
    )
    if kinds and not any(_is(value, name) for name in kinds):
        return [f"- {key!r}: must be {' or '.join(kinds)}, got {json.dumps(value)[:80]}"]
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        return [f"- {key!r}: must be one of {json.dumps(allowed)[:200]}, got {json.dumps(value)[:80]}"]
    return []


def _is(value: JsonValue, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PYTHON.get(kind, (object,)))


def _type_of(schema: JsonValue) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else "any"

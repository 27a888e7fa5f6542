"""Turns a parameters model into the schema the model reads, and its errors into sentences."""

from collections.abc import Mapping

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from agent_tui.protocol.data import JsonObject

_SHOWN_VALUE_CHARS = 80


def input_schema(params_type: type[BaseModel]) -> JsonObject:
    """Give a clean, stable JSON schema of type object: no titles, no null branches, references put in place.

    A recursive model keeps its `$defs`.
    """
    raw: JsonObject = params_type.model_json_schema()
    defs = raw.pop("$defs", {})
    definitions = defs if isinstance(defs, dict) else {}
    schema = _clean(raw, definitions, ())
    if not isinstance(schema, dict):
        return {"type": "object", "properties": {}}
    schema.pop("description", None)
    schema.setdefault("properties", {})
    if "#/$defs/" in str(schema):
        schema["$defs"] = {name: _clean(value, {}, ()) for name, value in definitions.items()}
    return schema


def _clean(node: JsonValue, definitions: Mapping[str, JsonValue], path: tuple[str, ...]) -> JsonValue:
    """Clean one node. `path` holds the definitions being put in place, so that recursion ends."""
    if isinstance(node, list):
        return [_clean(item, definitions, path) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix("#/$defs/")
        if name in definitions and name not in path:
            target = _clean(definitions[name], definitions, (*path, name))
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return {**target, **rest} if isinstance(target, dict) else target
        return dict(node)
    cleaned: JsonObject = {}
    for key, value in node.items():
        if key == "properties" and isinstance(value, dict):
            cleaned[key] = {name: _clean(item, definitions, path) for name, item in value.items()}
        elif key == "title" and isinstance(value, str):
            continue
        elif key in ("default", "examples", "enum", "const"):
            cleaned[key] = value
        else:
            cleaned[key] = _clean(value, definitions, path)
    return _without_null(cleaned)


def _without_null(node: JsonObject) -> JsonObject:
    """Give the one branch of "X or null" in place; an omitted parameter says null already."""
    branches = node.get("anyOf")
    if not isinstance(branches, list):
        return node
    kept = [branch for branch in branches if branch != {"type": "null"}]
    if len(kept) == len(branches) or len(kept) != 1 or not isinstance(kept[0], dict):
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if rest.get("default", 0) is None:
        del rest["default"]
    return {**kept[0], **rest}


def explain(name: str, error: ValidationError, schema: JsonObject) -> str:
    """Say to the model what is wrong with its arguments and what the parameters are."""
    lines = [f"Invalid arguments for {name!r}:"]
    lines += [f"- {_sentence(detail)}" for detail in error.errors(include_url=False, include_context=False)]
    parameters = _parameters(schema)
    lines.append(f"The parameters are: {parameters}." if parameters else "There are no parameters.")
    return "\n".join(lines)


def _sentence(detail: ErrorDetails) -> str:
    """Say what is wrong at one place."""
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(
        "."
    )
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if detail["type"] == "missing":
        return f"the required parameter {where!r} is missing"
    if detail["type"] == "extra_forbidden":
        return f"there is no parameter {where!r}"
    if detail["type"] == "json_invalid":
        return f"the arguments are not valid JSON: {message}"
    value = repr(detail["input"])
    shown = value if len(value) <= _SHOWN_VALUE_CHARS else f"{value[:_SHOWN_VALUE_CHARS]}..."
    return f"{where!r}: {message}, got {shown}" if where else f"{message}, got {shown}"


def _parameters(schema: JsonObject) -> str:
    """List the parameters with type and whether each is required."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return ""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return ", ".join(
        f"{key} ({_type_of(value)}{', required' if key in needed else ''})"
        for key, value in properties.items()
    )


def _type_of(schema: JsonValue) -> str:
    """Name the type of one parameter."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else "any"

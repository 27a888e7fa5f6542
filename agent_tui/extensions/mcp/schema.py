"""Turns a foreign input schema into one that every model provider takes, or says why that cannot be done."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from agent_tui.extensions.plain import plain
from agent_tui.protocol.data import JsonObject

MAX_SCHEMA_CHARS = 65_536
MAX_DEPTH = 40
MAX_NODES = 5_000
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_ONE = frozenset({"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"})
_MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"default", "examples", "const"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_WORDS = frozenset({"title", "description", "format"})
_FLAGS = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly"})


class UnusableSchema(ValueError):
    """A schema that no provider would take; the text says why."""


def usable_schema(raw: object) -> JsonObject:
    """Give a schema of type object without anyOf, oneOf, allOf at its top. Raises UnusableSchema.

    A missing schema takes no arguments. Branches at the top are merged; what is not JSON schema 2020-12 is put right
    or left out, remote and circular references allow anything. The server still checks what it gets.
    """
    if raw is None or raw is True:
        return {"type": "object", "properties": {}}
    if not isinstance(raw, dict):
        raise UnusableSchema(f"the input schema is {json.dumps(raw, default=str)[:40]}, not an object")
    try:
        size = len(json.dumps(raw))
    except (ValueError, TypeError, RecursionError) as error:
        raise UnusableSchema("the input schema is nested too deeply") from error
    if size > MAX_SCHEMA_CHARS:
        raise UnusableSchema(f"the input schema has {size:,} characters, more than {MAX_SCHEMA_CHARS:,}")
    root = cast("JsonObject", raw)
    cleaner = _Cleaner(root)
    schema = _merged(cleaner.node(root, 0), cleaner)
    if "#/$defs/" in json.dumps(schema) and isinstance(root.get("$defs"), dict):
        schema["$defs"] = cleaner.named("$defs", root["$defs"], 0)
    if "#/definitions/" in json.dumps(schema) and isinstance(root.get("definitions"), dict):
        schema["definitions"] = cleaner.named("definitions", root["definitions"], 0)
    return schema


def _merged(node: JsonValue, cleaner: "_Cleaner") -> JsonObject:
    """Give the top of a schema as one plain object. Raises UnusableSchema."""
    top = cleaner.resolved(node)
    kind = top.get("type", "object")
    kinds = kind if isinstance(kind, list) else [kind]
    if "object" not in kinds:
        raise UnusableSchema(f"the input schema is of type {json.dumps(kind)}; arguments are an object")
    properties: JsonObject = {}
    required: list[JsonValue] = []
    _take(top, properties, required)
    for word in ("allOf", "anyOf", "oneOf"):
        branches = [cleaner.resolved(branch) for branch in _list(top.get(word))]
        _merge_branches(branches, properties, required, all_needed=word == "allOf")
    schema: JsonObject = {"type": "object", "properties": properties}
    names = [name for name in dict.fromkeys(str(name) for name in required) if name in properties]
    if names:
        schema["required"] = [*names]
    if "additionalProperties" in top and not any(word in top for word in _MANY):
        schema["additionalProperties"] = top["additionalProperties"]
    for name in _list(top.get("required")):
        if name not in properties and isinstance(name, str) and not _KEY.fullmatch(name):
            raise UnusableSchema(f"the required parameter {name[:64]!r} has a name that providers refuse")
    return schema


def _merge_branches(
    branches: list[JsonObject], properties: JsonObject, required: list[JsonValue], *, all_needed: bool
) -> None:
    """Add the parameters of all branches; those count as required that every branch (of allOf: one) requires."""
    needed: list[set[str]] = []
    for branch in branches:
        own: list[JsonValue] = []
        _take(branch, properties, own)
        needed.append({str(name) for name in own})
    if needed:
        both = set[str].union(*needed) if all_needed else set[str].intersection(*needed)
        required.extend(sorted(both))


def _take(node: JsonObject, properties: JsonObject, required: list[JsonValue]) -> None:
    found = node.get("properties")
    for name, value in found.items() if isinstance(found, dict) else ():
        properties.setdefault(name, value)
    required.extend(_list(node.get("required")))


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


@dataclass
class _Cleaner:
    """Copies a schema keyword by keyword; what it does not know or what is malformed is left out."""

    root: JsonObject
    _nodes: int = field(default=0)

    def node(self, raw: JsonValue, depth: int) -> JsonValue:
        """Clean one schema. Raises UnusableSchema when it is too deep or too large."""
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise UnusableSchema("the input schema is too deep or too large")
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if not isinstance(raw, dict):
            return {}
        if isinstance(raw.get("$ref"), str):
            return self._reference(raw)
        clean: JsonObject = {}
        for key, value in raw.items():
            kept = self._keyword(key, value, depth + 1)
            if kept is not None:
                clean[key] = kept
        return _modern(raw, clean)

    def named(self, key: str, value: JsonValue, depth: int) -> JsonObject:
        """Clean schemas by name; of properties only those whose names providers take."""
        table = value if isinstance(value, dict) else {}
        return {
            name: self.node(inner, depth + 1)
            for name, inner in table.items()
            if key != "properties" or _KEY.fullmatch(name)
        }

    def resolved(self, node: JsonValue) -> JsonObject:
        """Follow references at the top as far as a schema. Raises UnusableSchema for a circle."""
        for _ in range(10):
            reference = node.get("$ref") if isinstance(node, dict) else None
            if not isinstance(reference, str):
                return node if isinstance(node, dict) else {}
            node = self.node(self._target(reference), 0)
        raise UnusableSchema("the input schema refers to itself in a circle")

    def _reference(self, raw: JsonObject) -> JsonObject:
        """Keep a reference that leads to a schema of this document; another allows anything."""
        reference = str(raw["$ref"])
        if reference == "#" or not reference.startswith(("#/$defs/", "#/definitions/")):
            return {}
        seen: set[str] = set()
        target: JsonValue = raw
        while isinstance(target, dict) and isinstance(target.get("$ref"), str):
            step = str(target["$ref"])
            if step in seen:
                return {}
            seen.add(step)
            target = self._target(step)
        if target is None:
            return {}
        words = raw.get("description")
        return {"$ref": reference, **({"description": plain(words)} if isinstance(words, str) else {})}

    def _target(self, reference: str) -> JsonValue:
        """Give what a local reference names, None when there is nothing."""
        if not reference.startswith("#/"):
            return None
        found: JsonValue = self.root
        for part in reference[2:].split("/"):
            if not isinstance(found, dict):
                return None
            found = found.get(part.replace("~1", "/").replace("~0", "~"))
        return found

    def _keyword(self, key: str, value: JsonValue, depth: int) -> JsonValue:
        """Give a keyword's clean value, None to leave it out."""
        if key in _ONE and isinstance(value, dict | bool):
            return value if isinstance(value, bool) else self.node(value, depth)
        if key in _MANY and isinstance(value, list) and value:
            return [self.node(inner, depth) for inner in value]
        if key == "properties" or key == "dependentSchemas":
            return self.named(key, value, depth)
        if key == "type":
            return _type(value)
        if key == "required":
            names = _list(value)
            return [name for name in names if isinstance(name, str)] or None
        if key == "enum" and isinstance(value, list) and value:
            return value
        if key in _WORDS and isinstance(value, str):
            return plain(value)
        if key in _VALUES:
            return value
        return value if _is_limit(key, value) else None


def _is_limit(key: str, value: JsonValue) -> bool:
    if key in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if key in _COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if key == "pattern":
        return isinstance(value, str) and len(value) <= 500 and _compiles(value)
    return key in _FLAGS and isinstance(value, bool)


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _type(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value if value in _TYPES else None
    names = _known(_list(value))
    return [*names] if len(names) > 1 else (names[0] if names else None)


def _known(names: Iterable[JsonValue]) -> list[str]:
    return [name for name in dict.fromkeys(n for n in names if isinstance(n, str)) if name in _TYPES]


def _modern(raw: JsonObject, clean: JsonObject) -> JsonObject:
    """Put what older drafts wrote into the words of 2020-12: tuples of items, exclusive limits as flags."""
    items = raw.get("items")
    if isinstance(items, list) and items and "prefixItems" not in clean:
        clean["prefixItems"] = [entry if isinstance(entry, dict) else {} for entry in items]
    for flag, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if raw.get(flag) is True and limit in clean:
            clean[flag] = clean.pop(limit)
    return clean

"""Finds the line of a settings file on which a key is set."""

import re

_TABLE = re.compile(r"\s*\[(?P<name>[^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?P<key>(?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[\w-]+""")


def line_of(text: str, key: str) -> int:
    """Give the 1-based line that sets the dotted `key`, or a table around it; 0 when it is not found.

    A line inside a string of several lines that looks like a setting can be taken for one.
    """
    wanted = tuple(key.split("."))
    table: tuple[str, ...] = ()
    around = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _TABLE.match(line):
            table = _parts(header["name"])
            if table == wanted:
                return number
        elif found := _KEY.match(line):
            path = (*table, *_parts(found["key"]))
            if path == wanted:
                return number
            if wanted[: len(path)] == path:
                around = around or number
    return around


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))

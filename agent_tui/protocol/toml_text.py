"""Reads TOML that others wrote, and finds lines in it."""

import re
import tomllib
from collections.abc import Iterable
from typing import Any

_TABLE = re.compile(r"\s*\[(?P<name>[^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?P<key>(?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[\w-]+""")
_FAULT = re.compile(
    r"(?P<what>.*?) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL
)


class TomlFault(tomllib.TOMLDecodeError):
    """A text is no TOML: `reason` says why and `line`, 1-based, where; 0 for the text as a whole."""

    def __init__(self, what: str, *, line: int = 0, column: int = 0) -> None:
        places = [f"line {line}" if line else "", f"column {column}" if column else ""]
        self.reason = _with(what, places[1:])
        self.line = line
        ValueError.__init__(self, _with(what, places))


def parse_toml(text: str) -> dict[str, Any]:
    """Give the tables. Raises TomlFault, also for what is nested so deeply that Python gives up."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlFault("the values are nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise _fault(str(error), text) from error


def _fault(said: str, text: str) -> TomlFault:
    found = _FAULT.fullmatch(said)
    what = found["what"] if found else said
    last = text.rstrip().count("\n") + 1
    line, column = (int(found["line"] or last), int(found["column"] or 0)) if found else (0, 0)
    return TomlFault(f"{what[:1].lower()}{what[1:]}", line=line, column=column)


def _with(what: str, places: Iterable[str]) -> str:
    named = ", ".join(filter(None, places))
    return f"{what} ({named})" if named else what


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

"""Reads the tables beside this file: one entry a line, `#` comments, indented lines go on."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def _lines(file: str) -> tuple[str, ...]:
    lines: list[str] = []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith(" ") and lines:
            lines[-1] += f" {line.strip()}"
        elif line and not line.startswith("#"):
            lines.append(line)
    return tuple(lines)


def entries(file: str, *, separator: str = ": ") -> Iterator[tuple[str, str]]:
    """Give (name, rest) of every entry, in file order."""
    for line in _lines(file):
        name, _, rest = line.partition(separator)
        yield name, rest


@cache
def words_of(file: str, name: str) -> frozenset[str]:
    """Give the words of one entry; none when there is no such entry."""
    return frozenset(dict(entries(file)).get(name, "").split())

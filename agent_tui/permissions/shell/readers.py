"""The programs that only read, each with the exact options for which that holds."""

from functools import cache

from agent_tui.permissions.shell.options import Spec, parse_spec
from agent_tui.permissions.shell.tables import entries


@cache
def readers() -> dict[str, Spec]:
    """Give the spec of every program that only reads."""
    specs = {name: parse_spec(text) for name, text in entries("readers.txt")}
    return specs | {"egrep": specs["grep"], "fgrep": specs["grep"]}


@cache
def versioned() -> dict[str, frozenset[str]]:
    """Give, per program, the single words after which it only prints its version or a short help."""
    return {name: frozenset(words.split()) for name, words in entries("versioned.txt", separator=" ")}

"""How much of a command "always" keeps: `git commit *`, `npm run test *`, or exactly what was typed."""

from collections.abc import Sequence
from functools import cache

from agent_tui.permissions.patterns import quoted_star
from agent_tui.permissions.shell.tables import entries
from agent_tui.permissions.shell.wrappers import base_name


@cache
def _table() -> dict[tuple[str, str], int]:
    table: dict[tuple[str, str], int] = {}
    for head, subcommands in entries("arity.txt", separator=" "):
        program, _, count = head.partition(":")
        for word in subcommands.split():
            key = (word, "") if program == "*" else (program, word)
            table[key] = int(count)
    return table


def lasting_pattern(argv: Sequence[str], source: str) -> str:
    """Give what "always" would store for a simple command, as a rule.

    A wildcard is offered only where the program and its subcommand are known not to run whatever they are given;
    interpreters, wrappers, make, npx, find, awk, sed, docker and ssh keep the exact text.
    """
    if not argv:
        return ""
    exact = f"Bash({quoted_star(source.strip())})"
    table = _table()
    if argv[0] != base_name(argv[0]):
        return exact
    if (argv[0], "") in table:
        return f"Bash({argv[0]} *)"
    if len(argv) < 2 or (argv[0], argv[1]) not in table:
        return exact
    kept = argv[: 1 + table[argv[0], argv[1]]]
    is_plain = all(word and not word.startswith("-") and not set(word) & set(" *\\'\"()") for word in kept)
    return f"Bash({' '.join(kept)} *)" if is_plain and len(kept) == 1 + table[argv[0], argv[1]] else exact

"""Tells whether an awk program only computes and prints."""

import re

from agent_tui.permissions.shell.tables import words_of

_FORBIDDEN = re.compile(
    r"@|(?<!\|)\|(?!\|)|&\||system|getline|close|fflush|ARGV|ARGC|PROCINFO|include|load|function|func\b|eval"
)
# After these a slash begins a pattern, also where it follows them at once.
_BEFORE_PATTERN = frozenset(["print", "printf", "return", "exit", "else", "do", "in", "delete", "case"])
# Built-in names that mean a value without parentheses: a slash after them is not certain to be a division.
_DOUBTFUL = frozenset(["length", "getline", "next", "nextfile", "break", "continue", "BEGIN", "END"])
_TOKEN = re.compile(
    r"(?P<space>[ \t]+)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<string>\"(?:[^\"\\\n]|\\[^\n])*\")"
    r"|(?P<mark>\+\+|--|&&|\|\||>>|[<>=!+\-*%^~?:,;(){}\[\]$&|\n])",
    re.ASCII,
)
_PATTERN = re.compile(r"/(?:[^\[\]/\\\n]|\\[^\n]|\[\^?(?:\[:[a-z]+:\]|[^\[\]/\\\n])+\])*/")


def awk_only_prints(program: str) -> bool:
    """Tell whether an awk program cannot do more than compute and print.

    Most is looked for in the raw text, also inside strings and patterns, because telling a division from a pattern
    is what an attacker would play with: without a single `|`, `@`, these names and unknown calls nothing can be
    run or read. Only a `>` that compares needs the program to be read, and any doubt refuses it.
    """
    if _FORBIDDEN.search(program):
        return False
    calls = words_of("programs.txt", "awk calls")
    if not all(name in calls for name in re.findall(r"([A-Za-z_]\w*)\s*\(", program)):
        return False
    return ">" not in program or _only_compares(program)


def _only_compares(program: str) -> bool:
    """Tell whether every `>` stands where it cannot be the redirection of a print statement."""
    at, before, prints = 0, "", False
    while at < len(program):
        if program[at] == "/":
            end = _slash_end(program, at, before)
            if end < 0:
                return False
            before = "/" if end == at + 1 else "pattern"
            at = end
            continue
        token = _TOKEN.match(program, at)
        if token is None:
            return False
        at = token.end()
        if token.lastgroup == "space":
            continue
        text = token[0]
        if text in (">", ">>") and (prints or text == ">>"):
            return False
        if text in ("print", "printf"):
            prints = True
        elif text in (";", "}"):
            prints = False
        before = text if token.lastgroup in ("name", "mark") else "value"
    return True


def _slash_end(program: str, at: int, before: str) -> int:
    """Give where the division or pattern that starts at a slash ends; -1 when it could be either.

    Beside strings no division is taken for certain: a quote inside a pattern would turn all that follows around.
    """
    is_name = re.fullmatch(r"[A-Za-z_]\w*", before) is not None
    if before in ("value", "]") or (
        is_name and before not in _BEFORE_PATTERN | _DOUBTFUL and before != "pattern"
    ):
        return -1 if '"' in program or program.startswith("/=", at) else at + 1
    if before in (")", "++", "--", "pattern", "/") or before in _DOUBTFUL or program.startswith("/=", at):
        return -1
    match = _PATTERN.match(program, at)
    return match.end() if match else -1

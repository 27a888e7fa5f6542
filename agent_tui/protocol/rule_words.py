"""Splits permission rules that stand in one text."""

import re
from collections.abc import Iterable, Iterator

_SIGN = re.compile(r"[\s,()]")


def split_words(given: Iterable[str]) -> list[str]:
    """Split `Bash(git *), Edit Read` at commas and blanks outside brackets; what follows an open one is one word."""
    return [word for text in given for word in _words(text)]


def _words(text: str) -> Iterator[str]:
    start = depth = 0
    for sign in _SIGN.finditer(text):
        match sign[0]:
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case _ if depth <= 0:
                if word := text[start : sign.start()]:
                    yield word
                start, depth = sign.end(), 0
            case _:
                pass
    if word := text[start:].rstrip():
        yield word

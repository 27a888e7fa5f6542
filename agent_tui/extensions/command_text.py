"""Takes the text of a custom command apart and puts arguments and outputs into it, each in one pass."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

MAX_SHELL_LINES = 20
_SHELL = re.compile(r"(?<![\w\\])!`([^`\n]+)`")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9][0-9]?)")


@dataclass(frozen=True)
class Piece:
    """A stretch of a command's text; with `is_shell` a shell line whose output stands in its place."""

    text: str
    is_shell: bool = False


def pieces(body: str, arguments: str) -> list[Piece]:
    """Give the text in pieces with the arguments put in.

    The body is taken apart first, so that arguments never add a shell line. Arguments that have no place in the body stand
    behind it.
    """
    found: list[Piece] = []
    end = 0
    for match in _SHELL.finditer(body):
        found += [Piece(body[end : match.start()]), Piece(match[1], is_shell=True)]
        end = match.end()
    found.append(Piece(body[end:]))
    words = _words(arguments)

    def put(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return arguments
        number = int(place[1])
        return words[number - 1] if number <= len(words) else ""

    filled = [Piece(_PLACE.sub(put, piece.text), piece.is_shell) for piece in found]
    if arguments and not _PLACE.search(body):
        filled.append(Piece(f"\n\nArguments: {arguments}"))
    return filled


def joined(parts: Sequence[Piece], outputs: Sequence[str]) -> str:
    """Give the whole text; `outputs` are those of the shell lines, in their order."""
    left = iter(outputs)
    return "".join(next(left).rstrip("\n") if part.is_shell else part.text for part in parts).strip()


def _words(arguments: str) -> list[str]:
    """Split as a shell would; what no shell can split is split at blanks."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()

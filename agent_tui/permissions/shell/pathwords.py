"""Finds the paths that stand inside a word: in addresses, behind clusters of short options, in lists."""

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

from agent_tui.permissions.shell.tables import words_of

_FILE_URL = re.compile(r"(?i:\bfile:)(?://[^/]*)?(/.*)|[A-Za-z][\w+.-]{0,40}:///(/.*)", re.DOTALL)
_GLUED = re.compile(r"-[A-Za-z]*([A-Za-z])((?:/|~/|\.\./).*|~|\.\.)", re.DOTALL)
_LISTED = re.compile(r"(?<=[=:,@<{])(?:/(?!/)|~/|\.\./)[^,:=}\s]*")
_BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")
_MAX_SPELLINGS = 64


def is_label(program: str, text: str) -> bool:
    """Tell whether a word that starts with `//` names a build target or a share, or is mere text."""
    return text.startswith("//") and (
        program in words_of("programs.txt", "takes // as labels") or not re.match(r"//+[^/\s]", text)
    )


def in_urls(text: str) -> Iterator[str]:
    """Give the file that an address without a host names, decoded, with and without what follows `?` or `#`."""
    if match := _FILE_URL.search(text):
        path = match[1] or match[2]
        yield from dict.fromkeys((unquote(path), unquote(re.split(r"[?#]", path, maxsplit=1)[0])))


def in_cluster(text: str) -> tuple[str, str] | None:
    """Give (option, path) for `-xvC/etc`; None unless it could be a value behind several letters."""
    match = _GLUED.fullmatch(text)
    return (f"-{match[1]}", match[2]) if match and match.start(1) > 1 else None


def leads_somewhere(path: str) -> bool:
    """Tell whether a path from the root has a first directory: `/include` of `-Isrc/include` has none."""
    return not path.startswith("/") or os.path.lexists("/" + path.lstrip("/").partition("/")[0])


def in_lists(text: str) -> Iterator[str]:
    """Give the paths outside of `type=bind,source=/a,target=/b`, `-v/a:/b`, `f=</a`."""
    return (match[0] for match in _LISTED.finditer(text))


def in_braces(text: str) -> list[str]:
    """Give the words that `a{b,c}` stands for, up to a limit; the word itself when it has no such braces."""
    found = [text]
    while len(found) < _MAX_SPELLINGS and (match := _BRACES.search(found[0])):
        head = found.pop(0)
        found.extend(head[: match.start()] + part + head[match.end() :] for part in match[1].split(","))
    return found

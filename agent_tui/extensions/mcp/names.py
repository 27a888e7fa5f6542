"""Gives every server and tool a name that all model providers take."""

import hashlib
import re
from collections.abc import Sequence

MAX_NAME_CHARS = 64
MAX_SERVER_CHARS = 24
_HASH_CHARS = 6
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_RUNS = re.compile(r"__+")


def server_names(names: Sequence[str]) -> dict[str, str]:
    """Give the name each server has inside tool names: at most 24 of [A-Za-z0-9_-], no `__`, unique without case.

    A name that had to be changed ends in a hash of the original, so that it does not depend on the other servers.
    """
    legal: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _RUNS.sub("_", _ILLEGAL.sub("_", name)).strip("_")
        fits = plain == name and len(plain) <= MAX_SERVER_CHARS and plain.casefold() not in taken
        legal[name] = name if fits else _hashed(plain or "server", name, MAX_SERVER_CHARS)
        taken.add(legal[name].casefold())
    return legal


def tool_names(server: str, originals: Sequence[str]) -> dict[str, str]:
    """Give `mcp__server__tool` for each of a server's own tool names, at most 64 characters, unique without case.

    `server` is the legal name of the server. Rules compare names without case, so two tools that differ only in case
    must not share one. A name that stands twice counts once.
    """
    prefix = f"mcp__{server}__"
    room = MAX_NAME_CHARS - len(prefix)
    legal: dict[str, str] = {}
    taken: set[str] = set()
    for original in dict.fromkeys(originals):
        plain = _ILLEGAL.sub("_", original).strip("_") if _ILLEGAL.search(original) else original
        fits = plain == original and 0 < len(plain) <= room and plain.casefold() not in taken
        name = original if fits else _hashed(plain or "tool", original, room)
        if name.casefold() in taken:
            continue  # a tool that is named like another's hash: the first counts
        taken.add(name.casefold())
        legal[original] = prefix + name
    return legal


def _hashed(plain: str, original: str, room: int) -> str:
    digest = hashlib.sha256(original.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]
    return f"{plain[: room - _HASH_CHARS - 1].rstrip('_')}_{digest}"

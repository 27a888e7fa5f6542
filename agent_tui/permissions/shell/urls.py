"""Finds the hosts of addresses among words."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,40}://\S+")
SCP_PLACE = re.compile(r"(?:[\w.-]+@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:]+\]):(?!\\)\S*")
"""`user@host:path` as ssh, scp and git write it; the host is the only group."""


def hosts_in(arguments: Sequence[str], *, places: bool = True) -> tuple[str, ...]:
    """Give the hosts of all URLs, once each, and with `places` those of `user@host:path` words."""
    hosts: dict[str, None] = {}
    for argument in arguments:
        for candidate in (argument, argument.partition("=")[2]):
            if match := URL.search(candidate):
                hosts[host_in(match[0])] = None
            elif places and (scp := SCP_PLACE.fullmatch(candidate)) and ("@" in candidate or "." in scp[1]):
                hosts[scp[1].lower()] = None
    return tuple(host for host in hosts if host)


def host_in(url: str) -> str:
    """Give the host of a URL, "" when there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""

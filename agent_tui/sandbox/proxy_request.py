"""Reads the head of a proxy request by a strict grammar: what is odd is refused, never interpreted."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_HEAD_BYTES = 32_768
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
)
_LITERAL = re.compile(r"\[([0-9a-f:.]{2,45})\]")
_CONNECT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):([1-9][0-9]{0,4})")
_METHOD = re.compile(r"[A-Z]{1,20}")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_DROPPED = frozenset(
    {b"host", b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"upgrade"}
)


class BadRequest(Exception):
    """The head is not one this proxy serves; the text says why."""


@dataclass(frozen=True)
class Wanted:
    """Where a request wants to go. `head` is what to send there first, empty for CONNECT."""

    host: str
    port: int
    head: bytes = b""

    @property
    def is_tunnel(self) -> bool:
        """Whether it is CONNECT."""
        return not self.head


def parse(head: bytes) -> Wanted:
    """Read `head`, up to and with its blank line. Raises BadRequest."""
    line, _, rest = head.partition(b"\r\n")
    try:
        words = line.decode("ascii").split(" ")
    except UnicodeDecodeError as error:
        raise BadRequest("the request line is not ASCII") from error
    if len(words) != 3 or not _METHOD.fullmatch(words[0]) or words[2] not in ("HTTP/1.0", "HTTP/1.1"):
        raise BadRequest("the request line is malformed")
    if words[0] == "CONNECT":
        return _tunnel(words[1])
    return _plain(words[0], words[1], rest)


def _tunnel(authority: str) -> Wanted:
    match = _CONNECT.fullmatch(authority)
    if match is None:
        raise BadRequest("CONNECT needs host:port")
    return Wanted(host_name(match[1]), _port(match[2]))


def _plain(method: str, url: str, fields: bytes) -> Wanted:
    if not url.startswith("http://") or not all("!" <= character <= "~" for character in url):
        raise BadRequest("only http:// URLs and CONNECT are served")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadRequest("the URL is malformed") from error
    if "@" in parts.netloc or "\\" in url or port == 0:
        raise BadRequest("the URL is malformed")
    shown = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    host = host_name(shown)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"{method} {path} HTTP/1.1".encode(),
        f"Host: {parts.netloc.lower()}".encode(),
        b"Connection: close",
    ]
    return Wanted(host, port or 80, b"\r\n".join([*lines, *_passed_on(fields)]) + b"\r\n\r\n")


def _passed_on(fields: bytes) -> list[bytes]:
    """Give the header lines that go on; one request a connection, so nothing can be slipped in behind it."""
    kept: list[bytes] = []
    lengths: set[bytes] = set()
    for line in fields.removesuffix(b"\r\n\r\n").split(b"\r\n"):
        if not line:
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            raise BadRequest("a header line is malformed")
        name = match[1].lower()
        if name in (b"content-length", b"transfer-encoding"):
            lengths.add(name)
        if name not in _DROPPED:
            kept.append(line)
    if len(lengths) > 1:
        raise BadRequest("the length of the body is given twice")
    return kept


def host_name(text: str) -> str:
    """Give a host in lower case, an IPv6 address without brackets. Raises BadRequest for anything unusual."""
    lower = text.lower()
    if match := _LITERAL.fullmatch(lower):
        return match[1]
    if not _HOST.fullmatch(lower):
        raise BadRequest("the host name is malformed")
    return lower


def _port(text: str) -> int:
    port = int(text)
    if port > 65_535:
        raise BadRequest("the port is out of range")
    return port

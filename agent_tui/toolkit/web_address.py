"""Which URLs and addresses the web tools may reach: public hosts by http or https, nothing near this machine."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from agent_tui.protocol.errors import ToolError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Give the addresses of a host, as text. Raises OSError."""
AddressPolicy = Callable[[Address], bool]
"""Tell whether an address may be dialled."""

PORTS = {"http": 80, "https": 443}
URL_LIMIT_CHARS = 8_000
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff]")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
# Never the place of a web server: relays, and nets that stand for other addresses.
_REFUSED = tuple(
    ipaddress.ip_network(net)
    for net in ("192.88.99.0/24", "64:ff9b:1::/48", "100::/64", "2001::/23", "fec0::/10", "5f00::/16")
)


@dataclass(frozen=True)
class WebUrl:
    """A checked URL. `host` is ASCII and lower case, without brackets; `text` is what is requested."""

    scheme: str
    host: str
    port: int
    text: str


def check_url(url: str) -> WebUrl:
    """Check the form of `url`. Raises ToolError that says what is wrong with it."""
    if len(url) > URL_LIMIT_CHARS:
        raise ToolError(f"The URL is longer than {URL_LIMIT_CHARS:,} characters.")
    if _FORBIDDEN.search(url):
        raise ToolError("The URL holds a blank, a control character or a backslash; encode it.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{url!r} is not a URL: {error}.") from error
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not url[len(scheme) :].startswith("://"):
        raise ToolError(f"{url!r} is not an http:// or https:// URL; other schemes are not fetched.")
    if "@" in parts.netloc:
        raise ToolError("The URL holds a user name or password; they are not sent.")
    host = _ascii_host(parts.hostname or "", url)
    if port == 0:
        raise ToolError("The URL has port 0.")
    return WebUrl(scheme, host, port or PORTS[scheme], _rebuilt(parts, scheme, host, port))


def _ascii_host(host: str, url: str) -> str:
    if not host or "%" in host:
        raise ToolError(f"{url!r} has no usable host.")
    if not host.isascii():
        import idna  # with its tables 20 ms, only needed for other scripts

        try:
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
        except idna.IDNAError as error:
            raise ToolError(f"The host of {url!r} is not a valid name: {error}.") from error
    return host.lower()


def _rebuilt(parts: SplitResult, scheme: str, host: str, port: int | None) -> str:
    """Give the URL again from its parts, so that nothing is requested but what was checked."""
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port in (None, PORTS[scheme]) else f"{shown}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{netloc}{parts.path or '/'}{query}"


def is_public(address: Address) -> bool:
    """Tell whether `address` is a public unicast one, and also every address that stands inside it."""
    if any(address.version == net.version and address in net for net in _REFUSED):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Give the IPv4 address that `address` leads to: mapped, 6to4, NAT64 or compatible."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64 or address in _COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for the addresses of `host`. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def allowed_addresses(url: WebUrl, *, resolver: Resolver, allows: AddressPolicy) -> list[str]:
    """Resolve the host once and give its addresses. Raises ToolError when one of them may not be dialled."""
    try:
        found = await resolver(url.host, url.port)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {url.host!r} could not be found: {error}.") from error
    if not found:
        raise ToolError(f"The host {url.host!r} has no address.")
    for text in found:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError as error:
            raise ToolError(f"The host {url.host!r} has an address that is none: {text!r}.") from error
        if not allows(address):
            raise ToolError(
                f"{url.host!r} leads to {text}, which is not a public address; it is not fetched."
            )
    return list(found)

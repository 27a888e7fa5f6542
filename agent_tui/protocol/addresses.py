"""Tells public addresses from all others, and asks the system for those of a name."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
AddressPolicy = Callable[[Address], bool]

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_REFUSED = (
    ipaddress.IPv4Network("100.64.0.0/10"),
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv6Network("fec0::/10"),
    _TEREDO,
)


def is_public(address: Address) -> bool:
    """Tell whether `address` is a public unicast one, and also every address that stands inside it."""
    if any(address.version == network.version and address in network for network in _REFUSED):
        return False
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _COMPATIBLE or any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for the addresses of `host`. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def parse_address(text: str) -> Address | None:
    """Give the address that `text` spells in its one usual form, None for a name or any other spelling."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

"""Tells public addresses from all others, and asks the system for those of a name."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Give the addresses of a host, as text. Raises OSError."""
AddressPolicy = Callable[[Address], bool]
"""Tell whether an address may be dialled."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_TRANSLATED = ipaddress.IPv6Network("::ffff:0:0:0/96")
# Never the place of a public server: relays, and nets that stand for other addresses (Teredo is in 2001::/23).
_REFUSED = tuple(
    ipaddress.ip_network(net)
    for net in (
        "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24",
        "64:ff9b:1::/48", "100::/64", "2001::/23", "3fff::/20", "5f00::/16", "fec0::/10",
    )
)  # fmt: skip


def is_public(address: Address) -> bool:
    """Tell whether `address` is a public unicast one, and also every address that stands inside it."""
    if any(address.version == network.version and address in network for network in _REFUSED):
        return False
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """Give the IPv4 address that `address` leads to: mapped, 6to4, NAT64, translated or compatible."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if any(address in network for network in (_NAT64, _TRANSLATED, _COMPATIBLE)):
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

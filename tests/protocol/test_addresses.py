import ipaddress

import pytest

from agent_tui.protocol.addresses import is_public

NOT_PUBLIC = {
    "unspecified": ("0.0.0.0", "0.1.2.3", "::"),
    "loopback": ("127.0.0.1", "127.255.255.254", "::1"),
    "private": ("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1", "fec0::1"),
    "link-local, with the metadata service of clouds": ("169.254.169.254", "169.254.0.1", "fe80::1"),
    "metadata services elsewhere": ("100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
    "carrier-grade NAT": ("100.64.0.1", "100.127.255.255"),
    "multicast": ("224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"),
    "reserved or for documents and benchmarks": (
        "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.255",
        "100::1", "2001:db8::1", "3fff::1", "5f00::1",
    ),
    "IPv4-mapped": ("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"),
    "IPv4-compatible and translated": ("::7f00:1", "::ffff:0:7f00:1", "::ffff:0:a9fe:a9fe"),
    "NAT64": ("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe"),
    "NAT64 of the own network": ("64:ff9b:1::7f00:1", "64:ff9b:1::808:808", "64:ff9b:1:a00:1::"),
    "6to4 and its relays": ("2002:7f00:1::", "2002:a00:1::", "2002:a9fe:a9fe::", "192.88.99.1"),
    "Teredo and its neighbours": ("2001::1", "2001:0:4136:e378::", "2001:2::1", "2001:10::1"),
}  # fmt: skip
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111",
    "2001:4860:4860::8888", "::ffff:1.1.1.1", "64:ff9b::808:808", "2002:808:808::",
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in NOT_PUBLIC.items() for text in texts]
)
def test_address_that_is_not_public_is_refused(kind: str, text: str) -> None:
    assert not is_public(ipaddress.ip_address(text)), kind


@pytest.mark.parametrize("text", PUBLIC)
def test_public_address_is_allowed(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))

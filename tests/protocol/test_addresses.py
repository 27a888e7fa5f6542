import ipaddress

import pytest

from agent_tui.sandbox.addresses import is_public


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "192.0.0.8", "192.88.99.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1",
        "fc00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:a00:1::",
        "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "::7f00:1", "2001:db8::1", "2001:0:4136:e378::",
    ],
)  # fmt: skip
def test_address_that_is_not_public_is_refused(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    "text", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_address_is_allowed(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))

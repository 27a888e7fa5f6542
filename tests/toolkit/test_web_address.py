from collections.abc import Sequence

import pytest

from agent_tui.protocol.addresses import Address, is_public, resolve
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.web import WebClient
from agent_tui.toolkit.web_address import allowed_addresses, check_url
from tests.support.patience import PATIENCE_S
from tests.support.web_world import FakeNames, response, running

FORMS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0/",
    "http://0.0.0.0/",
    "http://127.0.0.1./",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://[ff02::1]/",
    "http://[::1%25lo]/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://192.0.0.1/",
    "http://192.0.2.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://１２７.０.０.１/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    "http://user:pw@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    "http://127.0.0.1 /",
    "http://127.0.0.1\t/",
    "http://exam\nple.com/",
    "http:///x",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "//127.0.0.1/",
    "127.0.0.1/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "http://127.0.0.1:0/",
    "http://127.0.0.1:99999/",
    "http://[::1/",
    "http://[v1.x]/",
    "http://a..b/",
    "http://" + "a" * 9000,
    "",
]


@pytest.mark.parametrize("url", FORMS)
async def test_h48_no_form_of_a_near_address_is_fetched(url: str) -> None:
    with pytest.raises(ToolError):
        await WebClient().get(url, timeout_s=PATIENCE_S)


@pytest.mark.parametrize(
    ("url", "text", "host"),
    [
        ("HTTP://Example.COM/a?b=c#frag", "http://example.com/a?b=c", "example.com"),
        ("https://example.com", "https://example.com/", "example.com"),
        ("https://example.com:8443/x", "https://example.com:8443/x", "example.com"),
        ("http://example.com:80/", "http://example.com/", "example.com"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/ä", "xn--bcher-kva.example"),
        ("https://[2606:2800:220:1::1]/", "https://[2606:2800:220:1::1]/", "2606:2800:220:1::1"),
    ],
)
def test_h47_a_url_is_rebuilt_from_what_was_checked(url: str, text: str, host: str) -> None:
    checked = check_url(url)

    assert (checked.text, checked.host) == (text, host)


async def test_one_private_address_among_public_ones_refuses_all() -> None:
    names = FakeNames(mixed_test=["93.184.216.34", "127.0.0.1"])

    with pytest.raises(ToolError, match="not a public address"):
        await allowed_addresses(check_url("http://mixed.test/"), resolver=names, allows=is_public)


async def test_a_name_that_changes_its_address_is_resolved_once_and_dialled_there() -> None:
    class Flipping(FakeNames):
        async def __call__(self, host: str, port: int) -> Sequence[str]:
            self.asked.append(host)
            return ["127.0.0.1"] if len(self.asked) == 1 else ["127.0.0.2"]

    names = Flipping()
    async with running({"/": response(b"hello")}) as site:
        client = WebClient(resolver=names, allows=lambda a: str(a) == "127.0.0.1", variables={})

        page = await client.get(site.url(), timeout_s=PATIENCE_S)

    assert page.body == b"hello"
    assert names.asked == ["site.test"]
    assert site.headers[0]["host"] == f"site.test:{site.port}"


async def test_every_hop_is_checked() -> None:
    hits: list[str] = []

    def allows(address: Address) -> bool:
        hits.append(str(address))
        return len(hits) == 1

    async with running(
        {"/": response(status="302 Found", Location="/next"), "/next": response(b"x")}
    ) as site:
        with pytest.raises(ToolError, match="not a public address"):
            await WebClient(resolver=FakeNames(), allows=allows, variables={}).get(
                site.url(), timeout_s=PATIENCE_S
            )

    assert site.requests == ["/"]


async def test_the_system_resolver_gives_addresses() -> None:
    assert await resolve("127.0.0.1", 80) == ["127.0.0.1"]

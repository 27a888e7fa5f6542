import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from agent_tui.sandbox.proxy import Proxy, ProxyRules

NAMES = {
    "good.example": ["127.0.0.1"],
    "inner.example": ["127.0.0.9"],
    "both.example": ["127.0.0.1", "10.0.0.1"],
    "empty.example": [],
}


@pytest.fixture
async def upstream() -> AsyncIterator[tuple[int, list[bytes]]]:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heads


class Client:
    def __init__(self, port: int) -> None:
        self._port = port

    async def ask(self, text: bytes, more: bytes = b"") -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(text)
        answer = b""
        if more:
            answer = await reader.readuntil(b"\r\n\r\n")
            writer.write(more)
        answer += await reader.read()
        writer.close()
        return answer


Serve = Callable[[Sequence[str], int], tuple[Proxy, Client]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    proxies: list[Proxy] = []

    async def resolver(host: str, port: int) -> Sequence[str]:
        return NAMES[host]

    def make(hosts: Sequence[str], port: int) -> tuple[Proxy, Client]:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        rules = ProxyRules(
            resolver, lambda address: address == ipaddress.ip_address("127.0.0.1"), frozenset({port})
        )
        proxy = Proxy(listener, hosts, rules=rules)
        proxies.append(proxy)
        proxy.start()
        return proxy, Client(listener.getsockname()[1])

    yield make
    for proxy in proxies:
        await asyncio.to_thread(proxy.close)


async def test_plain_request_reaches_an_allowed_host(serve: Serve, upstream: tuple[int, list[bytes]]) -> None:
    port, heads = upstream
    _, client = serve(["good.example"], port)

    answer = await client.ask(f"GET http://good.example:{port}/a HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    assert answer.endswith(b"hello")
    assert heads == [f"GET /a HTTP/1.1\r\nHost: good.example:{port}\r\nConnection: close\r\n\r\n".encode()]


async def test_tunnel_reaches_an_allowed_host(serve: Serve, upstream: tuple[int, list[bytes]]) -> None:
    port, heads = upstream
    _, client = serve(["GOOD.example"], port)

    answer = await client.ask(f"CONNECT good.example:{port} HTTP/1.1\r\n\r\n".encode(), b"raw\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"hello")
    assert heads == [b"raw\r\n\r\n"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "sub.good.example", "xgood.example", "127.0.0.1", "[::1]", "good.example.evil.example"],
)
async def test_other_host_is_refused_and_remembered(
    serve: Serve, upstream: tuple[int, list[bytes]], host: str
) -> None:
    port, heads = upstream
    proxy, client = serve(["good.example"], port)

    answer = await client.ask(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 403")
    assert (heads, proxy.refused) == ([], [host.strip("[]")])


async def test_no_hosts_means_nothing_is_served(serve: Serve, upstream: tuple[int, list[bytes]]) -> None:
    port, heads = upstream
    _, client = serve([], port)

    assert (await client.ask(f"CONNECT good.example:{port} HTTP/1.1\r\n\r\n".encode())).startswith(
        b"HTTP/1.1 403"
    )
    assert heads == []


@pytest.mark.parametrize("host", ["inner.example", "both.example"])
async def test_allowed_name_that_leads_inside_is_refused(
    serve: Serve, upstream: tuple[int, list[bytes]], host: str
) -> None:
    port, heads = upstream
    _, client = serve([host], port)

    answer = await client.ask(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())

    assert b"not a public address" in answer
    assert heads == []


async def test_other_port_is_refused(serve: Serve, upstream: tuple[int, list[bytes]]) -> None:
    port, _ = upstream
    _, client = serve(["good.example"], port + 1)

    assert (await client.ask(f"CONNECT good.example:{port} HTTP/1.1\r\n\r\n".encode())).startswith(
        b"HTTP/1.1 403"
    )


async def test_name_without_an_address_is_a_gateway_error(
    serve: Serve, upstream: tuple[int, list[bytes]]
) -> None:
    port, _ = upstream
    _, client = serve(["empty.example"], port)

    assert (await client.ask(f"CONNECT empty.example:{port} HTTP/1.1\r\n\r\n".encode())).startswith(
        b"HTTP/1.1 502"
    )


async def test_malformed_request_is_answered_as_such(serve: Serve, upstream: tuple[int, list[bytes]]) -> None:
    port, _ = upstream
    _, client = serve(["good.example"], port)

    assert (await client.ask(b"CONNECT evil\0.good.example:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 400")

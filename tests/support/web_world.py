import asyncio
import gzip
import ipaddress
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = bytes | Callable[[asyncio.StreamWriter], object]


def response(
    body: bytes = b"",
    *,
    status: str = "200 OK",
    content_type: str | None = "text/plain; charset=utf-8",
    length: int | None = -1,
    **headers: str,
) -> bytes:
    """A whole response; `length` -1 is the true one, None sends none."""
    lines = [f"HTTP/1.1 {status}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    if length is not None:
        lines.append(f"Content-Length: {len(body) if length == -1 else length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def zipped(body: bytes) -> bytes:
    return response(gzip.compress(body), Content_Encoding="gzip")


@dataclass
class Site:
    """A loopback server: answers by path, remembers requests."""

    answers: dict[str, Answer]
    port: int = 0
    requests: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            target = head[0].split(" ")[1]
            headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in head[1:] if line)}
            self.requests.append(target)
            self.headers.append(headers)
            self.bodies.append(await reader.readexactly(int(headers.get("content-length", "0"))))
            answer = self.answers.get(
                target.partition("?")[0], response(b"no such page", status="404 Not Found")
            )
            if callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.closed.set()
            writer.close()


@asynccontextmanager
async def running(answers: Mapping[str, Answer]) -> AsyncIterator[Site]:
    site = Site(dict(answers))
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


class FakeNames:
    """Resolves every name to loopback, or to what was set; counts look-ups."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host in self.answers:
            return self.answers[host]
        if host == "missing.test":
            raise OSError("no such name")
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            return ["127.0.0.1"]


def loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_loopback

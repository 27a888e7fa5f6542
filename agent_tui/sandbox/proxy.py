"""Serves HTTP and CONNECT to the granted hosts, and to nothing else, for commands in a closed network namespace."""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_tui.protocol.addresses import AddressPolicy, Resolver, is_public, parse_address, resolve
from agent_tui.sandbox.proxy_request import MAX_HEAD_BYTES, BadRequest, Wanted, parse

HEAD_TIMEOUT_S = 30
DIAL_TIMEOUT_S = 20
MAX_CONNECTIONS = 128
MAX_REFUSED = 50
_CHUNK_BYTES = 65_536


@dataclass(frozen=True)
class ProxyRules:
    """How names become addresses, which of them may be dialled, and on which ports."""

    resolver: Resolver = resolve
    allows: AddressPolicy = is_public
    ports: frozenset[int] = frozenset({80, 443})


class Refused(Exception):
    """A request that is not served; the text is what the client reads."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """A proxy on a listening socket, in a thread with an event loop of its own.

    `hosts` match exactly; none means that nothing is served. `refused` collects the hosts that were asked for in vain.
    """

    def __init__(
        self, listener: socket.socket, hosts: Iterable[str], *, rules: ProxyRules | None = None
    ) -> None:
        self._listener = listener
        self._hosts = frozenset(host.lower() for host in hosts)
        self._rules = rules or ProxyRules()
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._serving = threading.Event()
        self.refused: list[str] = []
        self._thread = threading.Thread(target=self._run, name="sandbox-proxy", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()
        self._serving.wait()

    def close(self) -> None:
        """Stop serving; what is open is cut."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout=2)
        self._listener.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._serving.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._accept, sock=self._listener, limit=MAX_HEAD_BYTES)
        self._serving.set()
        await self._stop.wait()
        server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._slots:
            try:
                await self._handle(reader, writer)
            except Refused as refusal:
                await _answer(writer, refusal)
            except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass  # the client went away or sent too much: there is nobody to tell
            finally:
                writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            wanted = parse(head)
        except BadRequest as error:
            raise Refused("400 Bad Request", str(error)) from error
        upstream_reader, upstream = await self._dial(wanted)
        try:
            if wanted.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.write(wanted.head)
            await _relay((reader, upstream), (upstream_reader, writer))
        finally:
            upstream.close()

    async def _dial(self, wanted: Wanted) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to one of the checked addresses of an allowed host. Raises Refused."""
        if wanted.host not in self._hosts:
            self._note(wanted.host)
            raise Refused("403 Forbidden", f"{wanted.host} is not among the hosts that were allowed")
        if wanted.port not in self._rules.ports:
            raise Refused("403 Forbidden", f"port {wanted.port} is not served, only 80 and 443")
        for address in await self._addresses(wanted):
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(DIAL_TIMEOUT_S):
                    return await asyncio.open_connection(address, wanted.port)
        raise Refused("502 Bad Gateway", f"{wanted.host} could not be reached")

    async def _addresses(self, wanted: Wanted) -> Sequence[str]:
        literal = parse_address(wanted.host)
        try:
            found = [str(literal)] if literal else await self._rules.resolver(wanted.host, wanted.port)
        except (OSError, UnicodeError) as error:
            raise Refused("502 Bad Gateway", f"{wanted.host} could not be found") from error
        for text in found:
            try:
                public = self._rules.allows(ipaddress.ip_address(text.partition("%")[0]))
            except ValueError:
                public = False
            if not public:
                raise Refused(
                    "403 Forbidden", f"{wanted.host} leads to {text}, which is not a public address"
                )
        return found

    def _note(self, host: str) -> None:
        if host not in self.refused and len(self.refused) < MAX_REFUSED:
            self.refused.append(host)


async def _answer(writer: asyncio.StreamWriter, refusal: Refused) -> None:
    body = f"agent-tui: {refusal}\n".encode()
    head = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    with contextlib.suppress(OSError):
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        await writer.drain()


_Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _relay(up: _Pair, down: _Pair) -> None:
    """Copy both ways until both ends are done; when the server is done, the client's half is not waited for."""
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(_copy(*up))
        await _copy(*down)
        sending.cancel()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK_BYTES):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()

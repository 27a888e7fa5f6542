"""Waits on this machine for the browser to come back from a sign-in page."""

import asyncio
import contextlib
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
PATH = "/callback"
_REQUEST_S = 10.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>agent-tui</title>"
    "<body style='font:16px system-ui;margin:4em'><p>{words}</p>"
)
_BACK = "You can close this page and go back to the terminal."


@dataclass(frozen=True)
class Returned:
    """What the sign-in page sent back: a code, or the word for why there is none."""

    code: str = ""
    state: str = ""
    issuer: str = ""
    error: str = ""


def read_address(text: str) -> Returned | None:
    """Read the address a browser was sent back to, as a person copies it; None when it is none."""
    try:
        fields = parse_qs(urlsplit(text.strip()).query, max_num_fields=50)
    except ValueError:
        return None
    first = {name: values[0] for name, values in fields.items()}
    if "state" not in first or ("code" not in first and "error" not in first):
        return None
    return Returned(
        code=first.get("code", ""),
        state=first["state"],
        issuer=first.get("iss", ""),
        error=first.get("error", ""),
    )


class Receiver:
    """A web server for one answer. Only a return with the expected `state` counts; anything else gets a 404."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[Returned] = asyncio.get_running_loop().create_future()
        self.state = ""

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def listen(self, port: int = 0) -> None:
        """Begin to listen. Raises OSError when the port is taken."""
        self._server = await asyncio.start_server(self._serve, HOST, port, limit=32_768)

    def offer(self, returned: Returned | None) -> bool:
        """Take an answer that came another way; tell whether it is the one that is waited for."""
        if returned is None or not self.state or returned.state != self.state:
            return False
        if not self._answer.done():
            self._answer.set_result(returned)
        return True

    async def answer(self) -> Returned:
        """Wait for the browser."""
        return await asyncio.shield(self._answer)

    async def aclose(self) -> None:
        """Stop listening."""
        self._answer.cancel()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(_REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._reply(head.split(b"\r\n", 1)[0].decode("latin-1")))
                await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def _reply(self, line: str) -> bytes:
        verb, _, rest = line.partition(" ")
        target = rest.partition(" ")[0]
        returned = read_address(target) if urlsplit(target).path == PATH else None
        if verb != "GET" or not self.offer(returned):
            return _http("404 Not Found", "There is nothing here.")
        return _http(
            "200 OK", f"Signed in. {_BACK}" if returned and returned.code else f"Not signed in. {_BACK}"
        )


def _http(status: str, words: str) -> bytes:
    page = _PAGE.format(words=words).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(page)}\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nReferrer-Policy: no-referrer\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page

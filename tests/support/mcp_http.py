import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    verb: str
    path: str
    headers: dict[str, str]
    body: dict[str, object]


@dataclass(frozen=True)
class Said:
    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    hold: bool = False


def rpc(asked: Asked, result: object, **headers: str) -> Said:
    body = json.dumps({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}).encode()
    return Said(body=body, headers=headers)


def handshake(asked: Asked, *, version: str = "2025-11-25", **headers: str) -> Said | None:
    method = asked.body.get("method")
    if method == "initialize":
        info = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "h", "version": "1"},
        }
        return rpc(asked, info, **headers)
    if method == "tools/list":
        return rpc(asked, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
    if method == "ping":
        return rpc(asked, {})
    if "id" not in asked.body:
        return Said(status=405 if asked.verb == "GET" else 202)
    return None


@asynccontextmanager
async def http_server(answer: Callable[[Asked], Said]) -> AsyncGenerator[tuple[str, list[Asked]]]:
    seen: list[Asked] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                verb, path, _ = first.split(" ", 2)
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                asked = Asked(verb, path, headers, json.loads(raw) if raw else {})
                seen.append(asked)
                said = answer(asked)
                fields = {"content-type": said.kind, "connection": "close", **said.headers}
                if not said.hold:
                    fields["content-length"] = str(len(said.body))
                top = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in fields.items())
                writer.write(f"HTTP/1.1 {said.status} X\r\n{top}\r\n".encode() + said.body)
                await writer.drain()
                break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp", seen
    finally:
        server.close()
        await server.wait_closed()

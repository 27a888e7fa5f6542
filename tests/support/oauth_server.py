"""A loopback MCP server behind OAuth, with its authorization server: discovery, registration, PKCE, refresh."""

import asyncio
import base64
import hashlib
import json
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

Reply = tuple[int, dict[str, str], bytes]


def reply(body: object, status: int = 200, **headers: str) -> Reply:
    fields = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return status, fields, json.dumps(body).encode()


@dataclass
class OAuthWorld:
    """Both servers, on one port. What they do wrong is switched by fields; what happened is counted in `seen`."""

    origin: str = ""
    lifetime_s: int = 3600
    denies: str = ""
    rotates: bool = True
    refuses_refresh: bool = False
    needs_scope: str = ""
    foreign_state: bool = False
    seen: list[str] = field(default_factory=list)
    clients: dict[str, list[str]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    access: dict[str, str] = field(default_factory=dict)
    refresh: set[str] = field(default_factory=set)
    secrets: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def revoke_access(self) -> None:
        self.access.clear()

    def answer(self, verb: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        path = urlsplit(target).path
        self.seen.append(f"{verb} {path}")
        match path:
            case "/.well-known/oauth-protected-resource/mcp":
                return reply({"resource": self.url, "authorization_servers": [f"{self.origin}/as"]})
            case "/.well-known/oauth-authorization-server/as":
                return reply(self._metadata())
            case "/as/register":
                return self._register(json.loads(body))
            case "/as/authorize":
                return self._authorize(target)
            case "/as/token":
                return self._token({k: v[0] for k, v in parse_qs(body.decode()).items()})
            case "/mcp":
                return self._mcp(verb, headers, body)
            case _:
                return reply({"error": "not_found"}, 404)

    def _metadata(self) -> dict[str, object]:
        at = f"{self.origin}/as"
        return {
            "issuer": at,
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "registration_endpoint": f"{at}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }

    def _register(self, asked: dict[str, object]) -> Reply:
        client = f"client-{len(self.clients)}"
        self.clients[client] = [str(uri) for uri in asked["redirect_uris"]]
        return reply({**asked, "client_id": client, "token_endpoint_auth_method": "none"}, 201)

    def _authorize(self, target: str) -> Reply:
        asked = {k: v[0] for k, v in parse_qs(urlsplit(target).query).items()}
        self.pages.append(target)
        back = asked["redirect_uri"]
        if back not in self.clients.get(asked["client_id"], []) or asked["code_challenge_method"] != "S256":
            return reply({"error": "invalid_request"}, 400)
        if self.denies:
            answer = {"error": self.denies, "state": asked["state"]}
        else:
            code = self._secret("code")
            self.codes[code] = asked
            answer = {"code": code, "state": "another" if self.foreign_state else asked["state"]}
        return reply({}, 302, location=f"{back}?{urlencode(answer)}")

    def _token(self, asked: dict[str, str]) -> Reply:
        if asked["grant_type"] == "refresh_token":
            if self.refuses_refresh or asked["refresh_token"] not in self.refresh:
                return reply({"error": "invalid_grant", "error_description": asked["refresh_token"]}, 400)
            if self.rotates:
                self.refresh.discard(asked["refresh_token"])
            return self._give("", new_refresh=self.rotates)
        page = self.codes.pop(asked["code"], None)
        digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            page is None
            or page["code_challenge"] != challenge
            or page["redirect_uri"] != asked["redirect_uri"]
        ):
            return reply({"error": "invalid_grant", "error_description": asked["code"]}, 400)
        return self._give(page.get("scope", ""), new_refresh=True)

    def _give(self, scope: str, *, new_refresh: bool) -> Reply:
        token = self._secret("access")
        self.access[token] = scope
        given: dict[str, object] = {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": self.lifetime_s,
        }
        if scope:
            given["scope"] = scope
        if new_refresh:
            given["refresh_token"] = self._secret("refresh")
            self.refresh.add(str(given["refresh_token"]))
        return reply(given)

    def _secret(self, kind: str) -> str:
        self.secrets.append(f"{kind}-{secrets.token_hex(8)}")
        return self.secrets[-1]

    def _mcp(self, verb: str, headers: dict[str, str], body: bytes) -> Reply:
        where = f'resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp"'
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.access:
            return reply({"error": "unauthorized"}, 401, www_authenticate=f"Bearer {where}")
        asked = json.loads(body) if body else {}
        method = asked.get("method")
        if "id" not in asked:
            return 405 if verb == "GET" else 202, {}, b""
        if method == "tools/call" and self.needs_scope and self.needs_scope not in self.access[token].split():
            challenge = f'Bearer error="insufficient_scope", scope="{self.needs_scope}", {where}'
            return reply({"error": "insufficient_scope"}, 403, www_authenticate=challenge)
        results: dict[str, object] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "let in"}]},
        }
        return reply({"jsonrpc": "2.0", "id": asked["id"], "result": results.get(str(method), {})})


@asynccontextmanager
async def oauth_world(given: OAuthWorld | None = None, **fields: object) -> AsyncGenerator[OAuthWorld]:
    here = given or OAuthWorld(**fields)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode().strip().split("\r\n")
            verb, target, _ = first.split(" ", 2)
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            status, fields, content = here.answer(verb, target, headers, body)
            fields = {**fields, "content-length": str(len(content)), "connection": "close"}
            top = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            writer.write(f"HTTP/1.1 {status} X\r\n{top}\r\n".encode() + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    here.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield here
    finally:
        server.close()
        await server.wait_closed()


async def fetch(url: str) -> tuple[int, dict[str, str], str]:
    """Ask for a page as a browser does, without following."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
    try:
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    finally:
        writer.close()
        await writer.wait_closed()
    first, *lines = head.split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    return int(first.split()[1]), headers, body


async def browse(url: str, *, look: Callable[[str], None] = lambda _: None) -> str:
    """Follow a sign-in page to where it leads back to; give the last page."""
    for _ in range(5):
        status, headers, body = await fetch(url)
        if status != 302:
            look(body)
            return body
        url = headers["location"]
    raise AssertionError("too many redirects")

"""Signs in to a server by the SDK's OAuth client, with tokens that are kept and renewed."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError, OAuthTokenError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from agent_tui.extensions.mcp.aside import check_private
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.loopback import HOST, PATH, Receiver, Returned, read_address
from agent_tui.extensions.mcp.oauth_client import OAuthClientBase
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.tokens import Kept, TokenBox, token_key
from agent_tui.extensions.plain import one_line
from agent_tui.protocol.data import JsonObject

M = TypeVar("M", bound=BaseModel)

_WORD = re.compile(r'"error"\s*:\s*"([A-Za-z0-9_.-]{1,60})"')
_STATUS = re.compile(r"\((\d{3})\)")


@dataclass(frozen=True)
class Visit:
    """How a person gets to a sign-in page and back.

    `show` is given the page's address. `pasted` waits for an address that the person copied from the browser, for the
    case that the browser runs on another machine; None when there will be none. `waits` is entered while a person is
    waited for.
    """

    show: Callable[[str], Awaitable[None]]
    pasted: Callable[[], Awaitable[str | None]]
    waits: Callable[[], AbstractContextManager[None]] = nullcontext


Visitor = Callable[[], Awaitable[Visit | None]]
"""Gives a way to the page when one must be visited now; None when nobody can."""


class Drawer:
    """The kept sign-in of one server, as the SDK wants to store it."""

    def __init__(self, box: TokenBox, key: str, kept: Kept) -> None:
        self.box, self.key, self.kept = box, key, kept
        self.describe: Callable[[], tuple[BaseModel | None, BaseModel | None]] = lambda: (None, None)

    async def get_tokens(self) -> OAuthToken | None:
        """Give the tokens."""
        return _model(OAuthToken, self.kept.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, with where they can be renewed. Raises OSError."""
        server, resource = self.describe()
        changes: dict[str, object] = {
            "tokens": _json(tokens),
            "expires_at": time.time() + tokens.expires_in if tokens.expires_in else 0.0,
            "authorization_server": _json(server) or self.kept.authorization_server,
            "resource": _json(resource) or self.kept.resource,
        }
        await self._keep(changes)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Give what this program is registered as."""
        return _model(OAuthClientInformationFull, self.kept.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration. Raises OSError."""
        await self._keep({"client": _json(client_info)})

    async def expire(self) -> None:
        """Note that the token does not count any more, so that it is renewed. Raises OSError."""
        await self._keep({"expires_at": 1.0})

    async def stored(self) -> Kept | None:
        """Read anew: another program may have signed in or renewed meanwhile."""
        return await asyncio.to_thread(self.box.load, self.key)

    async def _keep(self, changes: dict[str, object]) -> None:
        self.kept = self.kept.model_copy(update=changes)
        await asyncio.to_thread(self.box.save, self.key, self.kept)


class SignIn(OAuthClientBase):
    """The SDK's client for one server. It asks `visitor` when a page must be visited.

    `receiver` listens for the browser already; without one it is opened when it is needed.
    """

    def __init__(
        self,
        spec: ServerSpec,
        drawer: Drawer,
        *,
        port: int,
        visitor: Visitor,
        receiver: Receiver | None = None,
    ) -> None:
        client = OAuthClientMetadata(
            client_name="agent-tui",
            redirect_uris=[AnyUrl(redirect_uri(port))],
            grant_types=["authorization_code", "refresh_token"],
        )
        super().__init__(
            spec.url,
            client,
            drawer,
            redirect_handler=self._go,
            callback_handler=self._come_back,
            client_metadata_url=spec.oauth.client_metadata_url or None,
        )
        self.spec, self._drawer, self._visitor = spec, drawer, visitor
        self._port, self._receiver, self._lent = port, receiver, receiver is not None
        self._visit: Visit | None = None
        context = self.context
        drawer.describe = lambda: (context.oauth_metadata, context.protected_resource_metadata)
        context.token_expiry_time = drawer.kept.expires_at or None
        context.oauth_metadata = _model(OAuthMetadata, drawer.kept.authorization_server)
        resource = _model(ProtectedResourceMetadata, drawer.kept.resource)
        if resource is not None:
            context.protected_resource_metadata = resource
            context.auth_server_url = str(resource.authorization_servers[0])

    async def _go(self, url: str) -> None:
        """Bring the person to the page. Raises ServerFault when nobody can go there."""
        check_private(url, self.spec)
        if self.answered == 401:
            await self._look_for_newer()
        self._visit = await self._visitor()
        if self._visit is None:
            raise needs_login(self.spec)
        if self._receiver is None:
            self._receiver = Receiver()
            try:
                await self._receiver.listen(self._port)
            except OSError as error:
                await self._give_back()
                raise needs_login(self.spec) from error
        self._receiver.state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        with self._visit.waits():
            await self._visit.show(url)

    async def _look_for_newer(self) -> None:
        """Raise a ServerFault that lets the server start anew when tokens can be had without a person."""
        stored = await self._drawer.stored()
        mine = self._drawer.kept
        if stored is None or stored.tokens is None or mine.tokens is None:
            return
        if stored.tokens != mine.tokens:
            raise ServerFault("another agent-tui renewed the sign-in")
        if stored.tokens.get("refresh_token") and stored.expires_at != 1.0 and _still_good(stored):
            await self._drawer.expire()
            raise ServerFault("did not take the token any more; it is renewed")

    async def _come_back(self) -> AuthorizationCodeResult:
        """Wait for the browser. Raises ServerFault when the person or the page said no."""
        receiver, visit = self._receiver, self._visit
        assert receiver is not None
        assert visit is not None
        try:
            with visit.waits():
                async with asyncio.TaskGroup() as group:
                    pasting = group.create_task(_take_pasted(receiver, visit))
                    returned = await receiver.answer()
                    pasting.cancel()
        finally:
            await self._give_back()
        return _result(returned)

    async def _give_back(self) -> None:
        if not self._lent and self._receiver is not None:
            receiver, self._receiver = self._receiver, None
            await receiver.aclose()


def redirect_uri(port: int) -> str:
    """Give the address a browser is sent back to."""
    return f"http://{HOST}:{port}{PATH}"


async def kept_sign_in(spec: ServerSpec, box: TokenBox, visitor: Visitor) -> SignIn | None:
    """Give the sign-in that is kept for a server, None when there is none."""
    if not spec.signs_in:
        return None
    key = token_key(spec)
    kept = await asyncio.to_thread(box.load, key)
    if kept is None or kept.tokens is None:
        return None
    return SignIn(spec, Drawer(box, key, kept), port=known_port(kept) or 1, visitor=visitor)


def known_port(kept: Kept) -> int:
    """Give the port that the kept registration names, 0 when it names none."""
    uris = (kept.client or {}).get("redirect_uris")
    first = uris[0] if isinstance(uris, list) and uris else ""
    try:
        where = urlsplit(str(first))
        return (where.port or 0) if where.hostname == HOST else 0
    except ValueError:
        return 0


def needs_login(spec: ServerSpec) -> ServerFault:
    """Say that a person must sign in."""
    return ServerFault(
        f"wants you to sign in: /mcp login {spec.name}, or agent-tui mcp login {spec.name}",
        lasting=True,
        status=401,
        login=True,
    )


def sign_in_fault(error: OAuthFlowError, *, by_person: bool) -> ServerFault:
    """Say why a sign-in failed, without anything that may be a secret."""
    words, busy = str(error), False
    if isinstance(error, OAuthTokenError):
        word, status = _WORD.search(words), _STATUS.search(words)
        words = word[1] if word else f"HTTP {status[1]}" if status else "no token was given"
        busy = not by_person and status is not None and (status[1] == "429" or status[1] >= "500")
    return ServerFault(f"the sign-in failed: {one_line(words)}", lasting=not busy, login=by_person)


async def _take_pasted(receiver: Receiver, visit: Visit) -> None:
    while (text := await visit.pasted()) is not None:
        if receiver.offer(read_address(text)):
            return


def _result(returned: Returned) -> AuthorizationCodeResult:
    """Raises ServerFault for a refusal."""
    if returned.error or not returned.code:
        word = re.sub(r"[^A-Za-z0-9_.-]", "", returned.error)[:60] or "no code"
        raise ServerFault(f"the sign-in was refused: {word}", lasting=True, login=True)
    return AuthorizationCodeResult(code=returned.code, state=returned.state, iss=returned.issuer or None)


def _still_good(kept: Kept) -> bool:
    return not kept.expires_at or kept.expires_at > time.time()


def _json(model: BaseModel | None) -> JsonObject | None:
    return None if model is None else cast("JsonObject", model.model_dump(mode="json", exclude_none=True))


def _model(kind: type[M], data: JsonObject | None) -> M | None:
    """Read what was kept; what an older or newer version wrote differently is as good as nothing."""
    try:
        return None if data is None else kind.model_validate(data)
    except ValidationError:
        return None

"""One sign-in by a person: opens a session only to get tokens for it."""

import asyncio
from dataclasses import replace

from pydantic import AnyUrl

from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.connection import Connection, reach
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.guest import Desk
from agent_tui.extensions.mcp.host import Host
from agent_tui.extensions.mcp.loopback import Receiver
from agent_tui.extensions.mcp.oauth_client import BASIC
from agent_tui.extensions.mcp.oauth_config import OAuthClient
from agent_tui.extensions.mcp.sign_in import Drawer, SignIn, Visit, known_port, redirect_uri
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.tokens import Kept, TokenBox, token_key
from agent_tui.protocol.data import JsonObject

LOGIN_S = 600.0
"""How long a person may take."""


async def log_in(
    spec: ServerSpec, box: TokenBox, *, visit: Visit, desk: Desk, log: ServerLog, limit_s: float = LOGIN_S
) -> bool:
    """Sign in and keep the tokens; tell whether the server asked for it at all. Raises ServerFault and OSError."""
    if not spec.url:
        raise ServerFault("is a program on this machine; only servers over HTTP have a sign-in")
    if spec.oauth.grant != "authorization_code":
        raise ServerFault("signs in by what its settings hold; nobody needs to")
    if not spec.signs_in:
        raise ServerFault("has an Authorization header in its settings; take it out to sign in instead")
    key = token_key(spec)
    kept = await asyncio.to_thread(box.load, key) or Kept()
    receiver = Receiver()
    try:
        await _listen(receiver, spec.oauth, kept)
        drawer = Drawer(box, key, Kept(client=_client(spec.oauth, kept, receiver.port)))

        async def visitor() -> Visit:
            return visit

        auth = SignIn(spec, drawer, port=receiver.port, visitor=visitor, receiver=receiver)
        try:
            async with asyncio.timeout(limit_s):
                await _open_once(replace(spec, start_s=limit_s), auth, desk, log)
        except TimeoutError as error:
            raise ServerFault(f"nobody signed in within {limit_s / 60:g} minutes", login=True) from error
        return drawer.kept.tokens is not None
    finally:
        await receiver.aclose()


async def _open_once(spec: ServerSpec, auth: SignIn, desk: Desk, log: ServerLog) -> None:
    """Connect and list the tools: whatever needs a sign-in asks for it by then. Raises ServerFault."""

    def nothing(*_: object) -> None:
        return None

    async def look(connection: Connection) -> None:
        await connection.list_all("tools/list", "tools")

    host = Host(
        server=spec.name,
        desk=desk,
        log=log,
        waiting=nothing,
        lists_changed=nothing,
        in_call=lambda: False,
    )
    await reach(spec, host=host, log=log, auth=auth, interactive=False, on_closed=nothing, live=look)


async def _listen(receiver: Receiver, known: OAuthClient, kept: Kept) -> None:
    """Listen where the registration says, else anywhere. Raises ServerFault when the port is not ours to choose."""
    try:
        await receiver.listen(known.redirect_port or known_port(kept))
    except OSError as error:
        if known.redirect_port:
            raise ServerFault(
                f"port {known.redirect_port} of this machine is taken; free it first"
            ) from error
        await receiver.listen()


def _client(known: OAuthClient, kept: Kept, port: int) -> JsonObject | None:
    """Give what this program is registered as: by the settings, or earlier by itself for this very port."""
    if known.client_id:
        secret: JsonObject = {}
        if known.client_secret:
            secret = {"client_secret": known.client_secret, "token_endpoint_auth_method": BASIC}
        return {"client_id": known.client_id, **secret, "redirect_uris": [redirect_uri(port)]}
    uris = (kept.client or {}).get("redirect_uris")
    mine = str(AnyUrl(redirect_uri(port)))
    return kept.client if isinstance(uris, list) and mine in uris else None

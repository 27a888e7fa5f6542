"""The SDK's OAuth client with what every sign-in of ours needs: old servers, scopes of the settings, secrets sent as asked."""

from collections.abc import AsyncGenerator
from typing import Final, Literal

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import (
    create_oauth_metadata_request,
    extract_resource_metadata_from_www_auth,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    union_scopes,
)
from mcp.shared.auth import OAuthMetadata

from agent_tui.extensions.mcp.aside import Aside

BASIC: Final = "client_secret_basic"
POST: Final = "client_secret_post"

_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"


class OldServers(OAuthClientProvider):
    """Takes the issuer of a server that speaks 2025-03-26 from its metadata, if it is of the server's own origin.

    That revision knows no protected resource metadata (RFC 9728): the server is its own authorization server, and its
    metadata stands at the root of its origin, whatever path its issuer has. RFC 8414 would have a path in the address,
    and the SDK compares by it. A server that publishes or announces RFC 9728 metadata is held to RFC 8414.
    """

    _old_issuer = ""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the SDK's flow, and read an old server's metadata before the SDK decides whose they must be."""
        flow = super().async_auth_flow(request)
        own = httpx2.URL(self.context.server_url)
        last_try, place = own.join(_RESOURCE), own.join(_SERVER)
        announced: str | None = None
        read: httpx2.Response | None = None
        try:
            outgoing = await anext(flow)
            while True:
                if read is not None and outgoing.url == place:
                    response, read = read, None
                else:
                    response = yield outgoing
                if outgoing is request:
                    announced = extract_resource_metadata_from_www_auth(response)
                elif outgoing.url == last_try and not announced and await self._is_old(response):
                    read = yield create_oauth_metadata_request(str(place))
                    self._old_issuer = await self._own_issuer(read)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _expected_issuer(self) -> str:
        return self.context.auth_server_url or self._old_issuer or super()._expected_issuer()

    async def _is_old(self, response: httpx2.Response) -> bool:
        """Tell whether the last place where RFC 9728 metadata could be says that there are none, now and before."""
        missing = 400 <= response.status_code < 500 and response.status_code != 429
        return self.context.auth_server_url is None and (
            missing or (response.is_success and await handle_protected_resource_response(response) is None)
        )

    async def _own_issuer(self, response: httpx2.Response) -> str:
        _, metadata = await handle_auth_metadata_response(response)
        issuer = str(metadata.issuer) if metadata is not None else ""
        return issuer if issuer and _origin(issuer) == _origin(self.context.server_url) else ""


class OAuthClientBase(Aside, OldServers):
    """What a person's sign-in and one by credentials have in common."""

    async def _perform_authorization(self) -> httpx2.Request:
        """Ask for the scopes of the settings where there are any, and for more only when the server said it needs more."""
        wanted = " ".join(self.spec.oauth.scopes)
        if wanted:
            metadata = self.context.client_metadata
            metadata.scope = union_scopes(wanted, metadata.scope) if self.answered == 403 else wanted
        await self._choose_secret_method()
        return await super()._perform_authorization()

    async def _choose_secret_method(self) -> None:
        """Send the secret of the settings the way the server takes it, now that it is known."""
        client = self.context.client_info
        if self.spec.oauth.client_secret and client is not None:
            chosen = secret_method(self.context.oauth_metadata)
            if chosen is not None:
                client.token_endpoint_auth_method = chosen
                await self.context.storage.set_client_info(client)


def secret_method(
    metadata: OAuthMetadata | None,
) -> Literal["client_secret_basic", "client_secret_post"] | None:
    """Give how a token endpoint takes a client secret, None when it does not say."""
    takes = metadata.token_endpoint_auth_methods_supported if metadata else None
    if not takes:
        return None
    return POST if POST in takes and BASIC not in takes else BASIC


def _origin(url: str) -> tuple[str, str, int | None]:
    """Give scheme, host and port; the usual port of a scheme is None."""
    where = httpx2.URL(url)
    return where.scheme, where.host, where.port

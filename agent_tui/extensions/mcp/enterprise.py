"""Signs in with what the company's sign-in vouches for: an ID token becomes an ID-JAG, and that an access token.

The second step is the SDK's; the first is RFC 8693 as the MCP extension for enterprise-managed authorization profiles it.
"""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import httpx2
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.utils import handle_auth_metadata_response
from pydantic import BaseModel, ConfigDict, ValidationError

from agent_tui.extensions.mcp.aside import ASIDE_S, Aside, check_private
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.oauth_client import BASIC, secret_method
from agent_tui.extensions.mcp.pocket import Pocket, read_secret
from agent_tui.extensions.mcp.spec import ServerSpec

_KIND = "urn:ietf:params:oauth:token-type:"
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_MAX_ANSWER_BYTES = 1 << 20


class _Exchanged(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    access_token: str
    issued_token_type: Literal["urn:ietf:params:oauth:token-type:id-jag"]


class _Refusal(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    error: str = ""


class ByCompany(Aside, IdentityAssertionOAuthProvider):
    """A person's sign-in by the company's; the ID token is read anew for each access token."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        self.spec, self._folder = spec, folder
        client = spec.oauth
        super().__init__(
            spec.url,
            Pocket(),
            client.client_id,
            client.client_secret,
            client.issuer,
            self._id_jag,
            scope=" ".join(client.scopes) or None,
            token_endpoint_auth_method=BASIC,
        )

    async def overhear(self, response: httpx2.Response) -> None:
        """Learn from the authorization server's metadata how it takes a secret."""
        _, metadata = await handle_auth_metadata_response(response)
        self._client.token_endpoint_auth_method = (
            secret_method(metadata) or self._client.token_endpoint_auth_method
        )

    async def _id_jag(self, audience: str, resource: str) -> str:
        """Exchange the person's ID token. Raises ServerFault without a word of what was sent or answered."""
        idp = self.spec.oauth.idp
        check_private(idp.token_endpoint, self.spec)
        asked = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": f"{_KIND}id-jag",
            "audience": audience,
            "resource": resource,
            "subject_token": await self._id_token(),
            "subject_token_type": f"{_KIND}id_token",
            "client_id": idp.client_id,
        }
        if self.spec.oauth.scopes:
            asked["scope"] = " ".join(self.spec.oauth.scopes)
        words = quote(idp.client_id, safe=""), quote(idp.client_secret, safe="")  # RFC 6749, 2.3.1
        login = httpx2.BasicAuth(*words) if idp.client_secret else None
        try:
            status, body = await _post(idp.token_endpoint, asked, login)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ServerFault(f"the company's sign-in cannot be reached: {type(error).__name__}") from None
        try:
            if status == 200:
                return _Exchanged.model_validate_json(body).access_token
        except ValidationError:
            raise ServerFault("the company's sign-in gave no ID-JAG", lasting=True) from None
        raise ServerFault(f"the company's sign-in refused: {_reason(status, body)}", lasting=status < 500)

    async def _id_token(self) -> str:
        """Raises ServerFault."""
        idp = self.spec.oauth.idp
        token = idp.id_token.strip() or await read_secret(idp.id_token_file, self._folder)
        if not _JWT.fullmatch(token):
            raise ServerFault("what its settings give as ID token is none", lasting=True)
        return token


async def _post(url: str, form: dict[str, str], login: httpx2.Auth | None) -> tuple[int, bytes]:
    """Give status and body of an answer of at most 1 MiB. Raises httpx2.HTTPError and StreamError."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    body = b""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=ASIDE_S) as client,
        client.stream("POST", url, data=form, auth=login) as response,
    ):
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > _MAX_ANSWER_BYTES:
                raise httpx2.StreamError("too long")
        return response.status_code, body


def _reason(status: int, body: bytes) -> str:
    try:
        word = re.sub(r"[^A-Za-z0-9_.-]", "", _Refusal.model_validate_json(body).error)[:60]
    except ValidationError:
        word = ""
    return word or f"HTTP {status}"

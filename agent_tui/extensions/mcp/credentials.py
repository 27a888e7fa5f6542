"""Signs in without a person at the screen, by what a server's settings hold: a secret, a key, or a company's ID token.

Tokens that come this way are kept in memory only: getting another one costs a request and no person.
"""

from pathlib import Path
from typing import assert_never

import httpx2
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match

from agent_tui.extensions.mcp.enterprise import ByCompany
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.oauth_client import OAuthClientBase
from agent_tui.extensions.mcp.pocket import Pocket, read_secret
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.plain import one_line

_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


class _OwnAccount(OAuthClientBase):
    """Sends credentials to one authorization server only: that of the settings, else one on the server's own origin."""

    def _select_authorization_server(self, advertised: list[str]) -> str:
        chosen = super()._select_authorization_server(advertised)
        if not issuers_match(chosen, issuer_of(self.spec)):
            named = one_line(chosen, limit_chars=200)
            raise ServerFault(
                f"wants its credentials sent to {named}; if that is right, put it into oauth.issuer",
                lasting=True,
            )
        return chosen


class BySecret(_OwnAccount, ClientCredentialsOAuthProvider):
    """Client credentials with a secret."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        client = spec.oauth
        super().__init__(spec.url, Pocket(), client.client_id, client.client_secret, issuer=issuer_of(spec))


class ByKey(_OwnAccount, PrivateKeyJWTOAuthProvider):
    """Client credentials with a signature by `key` (PEM). Raises ServerFault for a key that cannot sign."""

    def __init__(self, spec: ServerSpec, key: str) -> None:
        self.spec = spec
        client = spec.oauth.client_id
        signer = SignedJWTParameters(
            issuer=client, subject=client, signing_key=key, signing_algorithm=algorithm(key)
        )
        super().__init__(
            spec.url, Pocket(), client, signer.create_assertion_provider(), issuer=issuer_of(spec)
        )


async def standing_sign_in(spec: ServerSpec, folder: Path) -> httpx2.Auth | None:
    """Give the sign-in that a server's settings hold, None when a person is to sign in.

    Relative files are looked for in `folder`. Raises ServerFault.
    """
    client = spec.oauth
    match client.grant:
        case "authorization_code":
            return None
        case "client_credentials" if client.client_secret:
            return BySecret(spec)
        case "client_credentials":
            key = client.private_key.replace("\\n", "\n")  # a variable often holds the whole key on one line
            if client.private_key_file:
                key = await read_secret(client.private_key_file, folder)
            return ByKey(spec, key)
        case "enterprise_managed":
            return ByCompany(spec, folder)
        case _:
            assert_never(client.grant)


def issuer_of(spec: ServerSpec) -> str:
    """Give the authorization server that the credentials are for."""
    if spec.oauth.issuer:
        return spec.oauth.issuer
    own = httpx2.URL(spec.url)
    return str(own.copy_with(userinfo=b"", path="/", query=None, fragment=None)).rstrip("/")


def algorithm(key: str) -> str:
    """Give how a private key (PEM) signs. Raises ServerFault, which does not quote it."""
    try:
        read = load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ServerFault("its private key is not an unencrypted PEM key", lasting=True) from None
    match read:
        case rsa.RSAPrivateKey():
            return "RS256"
        case ec.EllipticCurvePrivateKey() if read.curve.name in _CURVES:
            return _CURVES[read.curve.name]
        case ed25519.Ed25519PrivateKey():
            return "EdDSA"
        case _:
            raise ServerFault("its private key is of a kind that signs no tokens", lasting=True)

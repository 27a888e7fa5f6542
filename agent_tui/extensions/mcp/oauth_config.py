"""Reads how this program is known to a server's authorization server: the `oauth` table of a server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

Grant = Literal["authorization_code", "client_credentials", "enterprise_managed"]
"""Who is signed in: a person in a browser, this program itself, or a person whom the company's sign-in vouches for."""


@dataclass(frozen=True)
class IdentityProvider:
    """The company's sign-in, which exchanges the person's ID token. All may be ""."""

    token_endpoint: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    id_token_file: str = ""


@dataclass(frozen=True)
class OAuthClient:
    """How this program is known to a server's sign-in, where it cannot register itself. All may be "".

    `issuer` is the authorization server that the secrets belong to, and gets them alone. `private_key` is PEM.
    """

    grant: Grant = "authorization_code"
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_metadata_url: str = ""
    redirect_port: int = 0
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    private_key: str = field(default="", repr=False)
    private_key_file: str = ""
    idp: IdentityProvider = IdentityProvider()


class _Idp(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    token_endpoint: str = ""
    client_id: str = ""
    client_secret: str = ""
    id_token: str = ""
    id_token_file: str = ""


class OAuthEntry(BaseModel):
    """The table as people write it down."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    grant: Grant = "authorization_code"
    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""
    redirect_port: int = Field(default=0, ge=0, le=65_535)
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    private_key: str = ""
    private_key_file: str = ""
    idp: _Idp = _Idp()

    @field_validator("scopes", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(value.split()) if isinstance(value, str) else value


def read_oauth(entry: OAuthEntry, expand: Callable[[str], str]) -> OAuthClient:
    """Put variables in place and check what belongs together. Raises ValueError."""
    client = OAuthClient(
        grant=entry.grant,
        client_id=expand(entry.client_id),
        client_secret=expand(entry.client_secret),
        client_metadata_url=expand(entry.client_metadata_url),
        redirect_port=entry.redirect_port,
        issuer=expand(entry.issuer),
        scopes=tuple(expand(scope) for scope in entry.scopes),
        private_key=expand(entry.private_key),
        private_key_file=expand(entry.private_key_file),
        idp=IdentityProvider(
            token_endpoint=expand(entry.idp.token_endpoint),
            client_id=expand(entry.idp.client_id),
            client_secret=expand(entry.idp.client_secret),
            id_token=expand(entry.idp.id_token),
            id_token_file=expand(entry.idp.id_token_file),
        ),
    )
    match client.grant:
        case "authorization_code":
            pass
        case "client_credentials":
            _need(client_id=client.client_id)
            _need_one(
                client_secret=client.client_secret,
                private_key=client.private_key,
                private_key_file=client.private_key_file,
            )
        case "enterprise_managed":
            _need(client_id=client.client_id, client_secret=client.client_secret, issuer=client.issuer)
            _need(**{"idp.token_endpoint": client.idp.token_endpoint, "idp.client_id": client.idp.client_id})
            _need_one(**{"idp.id_token": client.idp.id_token, "idp.id_token_file": client.idp.id_token_file})
    for key, url in (("issuer", client.issuer), ("idp.token_endpoint", client.idp.token_endpoint)):
        if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
            raise ValueError(f"oauth.{key} must begin with http:// or https://")
    return client


def _need(**values: str) -> None:
    """Raises ValueError."""
    for key, value in values.items():
        if not value:
            raise ValueError(f"oauth.{key} is needed for this grant")


def _need_one(**values: str) -> None:
    """Raises ValueError."""
    if sum(bool(value) for value in values.values()) != 1:
        *most, last = (f"oauth.{key}" for key in values)
        raise ValueError(f"exactly one of {', '.join(most)} and {last} is needed for this grant")

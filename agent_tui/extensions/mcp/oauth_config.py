"""Reads how this program is known to a server's authorization server: the `oauth` table of a server."""

from collections.abc import Callable
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

Table = TypeVar("Table", bound=BaseModel)
Grant = Literal["authorization_code", "client_credentials", "enterprise_managed"]
"""Who is signed in: a person in a browser, this program itself, or a person whom the company's sign-in vouches for."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class IdentityProvider(_Table):
    """The company's sign-in, which exchanges the person's ID token. All may be ""."""

    token_endpoint: str = ""
    client_id: str = ""
    client_secret: str = Field(default="", repr=False)
    id_token: str = Field(default="", repr=False)
    id_token_file: str = ""


class OAuthClient(_Table):
    """How this program is known to a server's sign-in, where it cannot register itself. All may be "".

    `issuer` is the authorization server that the secrets belong to, and gets them alone. `private_key` is PEM.
    """

    grant: Grant = "authorization_code"
    client_id: str = ""
    client_secret: str = Field(default="", repr=False)
    client_metadata_url: str = ""
    redirect_port: int = Field(default=0, ge=0, le=65_535)
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    private_key: str = Field(default="", repr=False)
    private_key_file: str = ""
    idp: IdentityProvider = IdentityProvider()

    @field_validator("scopes", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(value.split()) if isinstance(value, str) else value


def read_oauth(written: OAuthClient, expand: Callable[[str], str]) -> OAuthClient:
    """Put variables in place in what people wrote down, and check what belongs together. Raises ValueError."""
    client = _expanded(written, expand).model_copy(
        update={
            "scopes": tuple(expand(scope) for scope in written.scopes),
            "idp": _expanded(written.idp, expand),
        }
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


def _expanded(table: Table, expand: Callable[[str], str]) -> Table:
    """Put variables in place in the texts of a table."""
    texts = {key: expand(value) for key, value in table if isinstance(value, str)}
    return table.model_copy(update=texts)


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

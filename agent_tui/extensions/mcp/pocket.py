"""What a sign-in without a person holds: tokens in memory, and the files in which its key or ID token stands."""

import asyncio
import os
from pathlib import Path

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from agent_tui.extensions.mcp.faults import ServerFault

MAX_SECRET_BYTES = 64 << 10


class Pocket:
    """Tokens for as long as the connection lives, as the SDK wants to store them."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Give the tokens."""
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens."""
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Give nothing: the settings say who this client is."""

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep nothing: the settings say who this client is."""


async def read_secret(file: str, folder: Path) -> str:
    """Read a file that holds a key or a token; a relative one is in `folder`. Raises ServerFault without its content."""
    path = folder / Path(os.path.expanduser(file))
    try:
        return await asyncio.to_thread(_read, path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a small text file"
        raise ServerFault(f"{file!r} of its settings cannot be read: {why}", lasting=True) from None


def _read(path: Path) -> str:
    """Raises OSError and ValueError."""
    if not path.is_file() and path.exists():
        raise ValueError(path)
    with path.open("rb") as stream:
        data = stream.read(MAX_SECRET_BYTES + 1)
    if len(data) > MAX_SECRET_BYTES:
        raise ValueError(path)
    return data.decode().strip()

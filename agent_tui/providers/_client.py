"""Makes an SDK's client when it is first needed, off the event loop, and closes it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from agent_tui.providers._warm import load_sdk

if TYPE_CHECKING:
    import httpx2

REQUEST_TIMEOUT_S = 600.0
CONNECT_TIMEOUT_S = 15.0


class Closable(Protocol):
    """A client with connections."""

    async def close(self) -> None:
        """Close them."""
        ...


Client = TypeVar("Client", bound=Closable)


class LateClient(Generic[Client]):
    """One client of the SDK named `sdk`; `make` runs in a thread, after the SDK is imported."""

    def __init__(self, sdk: str, make: Callable[[], Client]) -> None:
        self._sdk = sdk
        self._make = make
        self._made: Client | None = None

    async def get(self) -> Client:
        """Give the client, the same to every request."""
        if self._made is None:
            await asyncio.to_thread(load_sdk, self._sdk)
            made = await asyncio.to_thread(self._make)  # 50 ms, most of it certificates
            if self._made is None:  # another request may have made one while this one waited
                self._made = made
        return self._made

    async def aclose(self) -> None:
        """Close its connections; a later request makes a new client."""
        if self._made is not None:
            client, self._made = self._made, None
            await client.close()


def response_hooks() -> "dict[str, list[Callable[[httpx2.Response], Awaitable[None]]]]":
    """Give the hooks that bound what is read whole of an answer. Call it when an SDK is loaded."""
    from agent_tui.providers._bounded import bound  # needs httpx2, which comes with the SDKs

    return {"response": [bound]}


def request_timeout() -> "httpx2.Timeout":
    """Give the time that connecting and each read may take. Call it when an SDK is loaded."""
    import httpx2  # comes with the SDKs

    return httpx2.Timeout(REQUEST_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)

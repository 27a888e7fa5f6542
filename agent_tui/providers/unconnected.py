"""Stands in for a model that cannot be connected: every request says why, and another can be chosen."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from agent_tui.protocol.errors import ProviderError
from agent_tui.providers.base import Delta, ModelInfo, ProviderRequest


class UnconnectedProvider:
    """Answers every request with the error that kept the model from being connected."""

    def __init__(self, error: ProviderError, *, name: str, model: str) -> None:
        self.name = name
        self.model = model
        self.context_tokens = 0
        self.info = ModelInfo(name=model)
        self._error = error

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        """Raise the error."""
        raise type(self._error)(str(self._error))
        yield  # pyright: ignore[reportUnreachable]  # makes it a generator

    async def models(self) -> Sequence[str]:
        """Raise the error."""
        raise type(self._error)(str(self._error))

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""

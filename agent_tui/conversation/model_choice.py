"""Which model answers the open session: chosen by name, listed, connected anew when its key changes."""

import asyncio
from collections.abc import Callable

from agent_tui.agent.loop import Agent
from agent_tui.protocol.errors import AgentTuiError, ProviderError
from agent_tui.providers.base import Provider
from agent_tui.ui.backend import ModelsView

ConnectTo = Callable[[str], Provider]


class ModelChoice:
    """Connects models for the open session's agent, between turns."""

    def __init__(self, connect: ConnectTo, agent: Callable[[], Agent]) -> None:
        self._connect = connect
        self._agent = agent
        self._name = ""

    async def use(self, name: str) -> str:
        """Let another model answer; give a sentence. One that cannot be connected changes nothing."""
        try:
            provider = await self._switch(name)
        except AgentTuiError as error:
            return str(error)
        self._name = name
        return f"{provider.name}:{provider.model} answers from now on; the cached prefix of the old model is lost."

    async def names(self) -> ModelsView:
        """List the models there are, the one in use alone, with the reason, when its server does not tell."""
        provider = self._agent().provider
        try:
            return ModelsView(await provider.models())
        except ProviderError as error:
            return ModelsView([provider.model], f"The server's other models are not known: {error}")

    async def key_stored(self, provider: str) -> str:
        """Connect anew with a key that was just stored, if it is that of the model in use; give a sentence or ""."""
        if self._agent().provider.name != provider:
            return ""
        try:
            used = await self._switch(self._name)
        except AgentTuiError as error:
            return str(error)
        return f"{used.name}:{used.model} is asked with it from now on."

    async def _switch(self, name: str) -> Provider:
        agent = self._agent()
        provider = await asyncio.to_thread(self._connect, name)
        old, agent.provider = agent.provider, provider
        await old.aclose()
        return provider

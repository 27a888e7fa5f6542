"""Asks a local server how long the context of its model is; no table can know how it was started."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from agent_tui.protocol.data import JsonObject
from agent_tui.providers._fields import integer, obj, objects, string

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TIMEOUT_S = 2.0
MAX_TRIES = 3

Ask = Callable[[str], Awaitable[JsonObject]]


class Window:
    """The context of one model of one server. It is asked for until it is known, three times at most."""

    def __init__(self, profile: str, base_url: str, model: str) -> None:
        self._kinds = _KINDS.get(profile, ())
        self._root = base_url.removesuffix("/v1")
        self._model = model
        self._tries = 0

    async def ask(self, client: "AsyncOpenAI") -> int:
        """Give the tokens that fit, 0 when the server does not say. Never raises what the server or network does."""
        if not self._kinds or self._tries >= MAX_TRIES:
            return 0
        self._tries += 1
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._first(client)
        except TimeoutError:
            return 0

    async def _first(self, client: "AsyncOpenAI") -> int:
        from openai import OpenAIError

        patient = client.with_options(max_retries=0, timeout=TIMEOUT_S)

        async def get(path: str) -> JsonObject:
            return _object(await patient.get(f"{self._root}{path}", cast_to=object))

        async def show(path: str) -> JsonObject:
            body = {"model": self._model}
            return _object(await patient.post(f"{self._root}{path}", body=body, cast_to=object))

        for kind in self._kinds:
            try:
                tokens = await kind(self._model, get, show)
            except (OpenAIError, ValueError):
                continue
            if tokens > 0:
                return tokens
        return 0


def _object(answer: object) -> JsonObject:
    return cast("JsonObject", answer) if isinstance(answer, dict) else {}


async def _ollama(model: str, get: Ask, show: Ask) -> int:
    """A loaded model says how it runs; before that only a num_ctx of its own is certain: the default varies."""
    loaded = await get("/api/ps")
    for row in objects(loaded, "models"):
        if model in {string(row, "name"), string(row, "model")} or string(row, "name") == f"{model}:latest":
            return integer(row, "context_length")
    found = re.search(r"^num_ctx\s+(\d+)", string(await show("/api/show"), "parameters"), re.MULTILINE)
    return int(found[1]) if found else 0


async def _llamacpp(_model: str, get: Ask, _show: Ask) -> int:
    return integer(obj(await get("/props"), "default_generation_settings"), "n_ctx")


async def _vllm(model: str, get: Ask, _show: Ask) -> int:
    rows = objects(await get("/v1/models"), "data")
    return next((integer(row, "max_model_len") for row in rows if string(row, "id") == model), 0)


async def _lmstudio(model: str, get: Ask, _show: Ask) -> int:
    rows = objects(await get("/api/v0/models"), "data")
    return next((integer(row, "loaded_context_length") for row in rows if string(row, "id") == model), 0)


_KINDS = {
    "ollama": (_ollama,),
    "llamacpp": (_llamacpp,),
    "vllm": (_vllm,),
    "lmstudio": (_lmstudio,),
    "compatible": (_vllm, _llamacpp),
}

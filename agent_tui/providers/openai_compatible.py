"""OpenAI and every server that speaks chat completions (or the responses API), through the official SDK."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agent_tui.providers import _failures as failures
from agent_tui.providers._chat_request import build_chat_body, used_ids
from agent_tui.providers._chat_stream import ChatFold
from agent_tui.providers._client import LateClient, request_timeout, response_hooks
from agent_tui.providers._reading import Fold, read_reply
from agent_tui.providers._responses_request import build_responses_body
from agent_tui.providers._responses_stream import ResponseFold
from agent_tui.providers._window import Window
from agent_tui.providers.base import Delta, ModelInfo, ProviderRequest
from agent_tui.providers.models import ModelFacts
from agent_tui.providers.profiles import COMPATIBLE, Profile

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai._response import (  # no public name; used for types only
        AsyncAPIResponse,
        AsyncResponseContextManager,
    )
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses import ResponseStreamEvent
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    _Pending = (
        AsyncResponseContextManager[AsyncAPIResponse[AsyncStream[ChatCompletionChunk]]]
        | AsyncResponseContextManager[AsyncAPIResponse[AsyncStream[ResponseStreamEvent]]]
    )


class OpenAICompatibleProvider:
    """Asks a model of an OpenAI-compatible server once per `stream`.

    `base_url` is what `/chat/completions` follows (see `profiles.normal_base_url`). The table says which API a model
    has; models that OpenAI itself serves and the table does not know use the responses API.
    """

    def __init__(
        self,
        facts: ModelFacts,
        *,
        profile: Profile = COMPATIBLE,
        base_url: str = "",
        api_key: str = "",
        key_hint: str = "Check the key.",
    ) -> None:
        self.name = profile.name if profile is not COMPATIBLE else "openai"
        self.info: ModelInfo = facts.info
        self.model = facts.info.name
        self.context_tokens = facts.info.context_tokens or 0
        self._facts, self._profile = facts, profile
        self._base_url = base_url or profile.base_url
        self._window = Window(profile.name, self._base_url, self.model)
        self._api_key = api_key
        self._responses = (facts.api or ("responses" if profile.name == "openai" else "chat")) == "responses"
        self._client = LateClient("openai", self._make_client)
        self._server = failures.Server(
            name=profile.title if profile is not COMPATIBLE else f"The server at {self._base_url}",
            base_url=self._base_url,
            key_hint=key_hint,
            model=self.model,
            secrets=(api_key,),
        )

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        """Send the request; the deltas end in Completed. Raises the errors of `Provider.stream`."""
        client = await self._client.get()
        if not self.context_tokens:
            await self._learn_window(client)
        pending, fold = self._send(client, request)
        with self._errors():
            async with (
                pending as response,
                aclosing(read_reply(response.iter_bytes(), fold, self._server)) as deltas,
            ):
                yield deltas

    async def _learn_window(self, client: "AsyncOpenAI") -> None:
        tokens = await self._window.ask(client)
        if tokens:
            self.context_tokens = tokens
            self.info = replace(self.info, context_tokens=tokens)

    def _send(self, client: "AsyncOpenAI", request: ProviderRequest) -> tuple["_Pending", Fold]:
        ids = used_ids(request.messages)
        if self._responses:
            body = build_responses_body(request, self._facts, provider=self.name)
            response_fold = ResponseFold(provider=self.name, model=self.model, used_ids=ids)
            responses = client.responses.with_streaming_response
            return responses.create(**cast("ResponseCreateParamsStreaming", body)), response_fold
        body = build_chat_body(request, self._facts, self._profile, provider=self.name)
        extra = {key: body.pop(key) for key in ("reasoning",) if key in body}  # not in the SDK's types
        tools = {tool.name for tool in request.tools}
        fold = ChatFold(provider=self.name, model=self.model, used_ids=ids, tools=tools)
        chat = client.chat.completions.with_streaming_response
        return chat.create(**cast("CompletionCreateParamsStreaming", body), extra_body=extra or None), fold

    async def models(self) -> Sequence[str]:
        """List the models the server offers. Raises ProviderError."""
        client = await self._client.get()
        with self._errors(), failures.expected(self._server, "a list of models"):
            return [model.id async for model in client.models.list()]

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    @contextmanager
    def _errors(self) -> Generator[None]:
        """Turn the SDK's errors into ours."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            body = error.body if error.body is not None else error.response.text
            raise failures.from_status(
                self._server, error.status_code, body, error.response.headers
            ) from error
        except openai.APIConnectionError as error:
            raise failures.from_network(self._server, error) from error
        except httpx2.TransportError as error:
            raise failures.cut(self._server, error) from error
        except openai.OpenAIError as error:
            raise failures.not_sent(self._server, error) from error

    def _make_client(self) -> "AsyncOpenAI":
        import openai

        timeout = request_timeout()
        return openai.AsyncOpenAI(
            api_key=self._api_key or "none",  # a server without keys ignores it; the SDK wants one
            base_url=self._base_url,
            timeout=timeout,
            max_retries=0,
            default_headers=self._profile.headers,
            # no redirects: they would carry the conversation to an address nobody chose
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=timeout, follow_redirects=False, event_hooks=response_hooks()
            ),
        )

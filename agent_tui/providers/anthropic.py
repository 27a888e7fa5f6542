"""The Anthropic Messages API through the official SDK, by its documented raw streaming path."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Literal, cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import BadResponse
from agent_tui.providers import _failures as failures
from agent_tui.providers._anthropic_request import INTERLEAVED_BETA, build_body, needs_interleaved_beta
from agent_tui.providers._anthropic_stream import MessageFold
from agent_tui.providers._client import LateClient, request_timeout, response_hooks
from agent_tui.providers._reading import read_reply
from agent_tui.providers.base import Completed, Delta, ModelInfo, ProviderRequest
from agent_tui.providers.models import ModelFacts

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types.message_count_tokens_params import MessageCountTokensParams
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

DEFAULT_BASE_URL = "https://api.anthropic.com"

Platform = Literal["anthropic", "bedrock", "vertex"]

_NOT_OFFERED = (200, 404, 405, 501)  # 200: something answered, but not with a count
"""What servers answer that speak the Messages protocol but do not count."""


class AnthropicProvider:
    """Asks a Claude model, or a server that speaks the Messages API, once per `stream`.

    `platform` bedrock and vertex use the SDK's extras and the cloud's own credentials (not tried against the
    clouds). `api_key` and `auth_token` are sent the SDK's way; neither is ever part of an error. `key_hint` says what
    to do about a refused key.
    """

    def __init__(
        self,
        facts: ModelFacts,
        *,
        api_key: str = "",
        auth_token: str = "",
        base_url: str = "",
        platform: Platform = "anthropic",
        key_hint: str = "Check the key.",
    ) -> None:
        self.name = "anthropic"
        self.info: ModelInfo = facts.info
        self.model = facts.info.name
        self.context_tokens = facts.info.context_tokens or 0
        self._facts = facts
        self._api_key, self._auth_token = api_key, auth_token
        self._base_url = base_url or DEFAULT_BASE_URL
        self._platform: Platform = platform
        self._client = LateClient("anthropic", self._make_client)
        self._server = failures.Server(
            name="Anthropic" if self._base_url == DEFAULT_BASE_URL else f"The server at {self._base_url}",
            base_url=self._base_url,
            key_hint=key_hint,
            model=self.model,
            secrets=(api_key, auth_token),
        )

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        """Send the request; the deltas end in Completed. Raises the errors of `Provider.stream`."""
        client = await self._client.get()
        body = build_body(request, self._facts, provider=self.name, model=self.model)
        headers: dict[str, str] = {}
        if "thinking" in body and needs_interleaved_beta(self._facts):
            headers["anthropic-beta"] = INTERLEAVED_BETA
        with self._errors():
            if (
                self._platform == "bedrock"
            ):  # its frames are no event stream; only the SDK's stream reads them
                async with aclosing(self._typed_events(client, body)) as deltas:
                    yield deltas
                return
            pending = client.messages.with_streaming_response.create(
                **_typed_body(body), extra_headers=headers
            )
            fold = MessageFold(provider=self.name, model=self.model)
            async with (
                pending as response,
                aclosing(read_reply(response.iter_bytes(), fold, self._server)) as deltas,
            ):
                yield deltas

    async def _typed_events(self, client: "AsyncAnthropic", body: JsonObject) -> AsyncGenerator[Delta]:
        fold = MessageFold(provider=self.name, model=self.model)
        stream = await client.messages.create(**_typed_body(body))
        async with stream:
            async for event in stream:
                for delta in fold.feed(cast(JsonObject, event.model_dump(mode="json"))):
                    yield delta
        yield Completed(fold.message())

    async def models(self) -> Sequence[str]:
        """List the models the server offers. Raises ProviderError."""
        client = await self._client.get()
        if self._platform != "anthropic":
            raise BadResponse("This platform does not list its models; name one with --model.")
        with self._errors(), failures.expected(self._server, "a list of models"):
            return [model.id async for model in client.models.list(limit=100)]

    async def count_tokens(self, request: ProviderRequest) -> int | None:
        """Ask the server how many tokens the request is; None when it does not count. Raises ProviderError."""
        if self._platform == "bedrock":
            return None
        client = await self._client.get()
        body = build_body(request, self._facts, provider=self.name, model=self.model)
        del body["max_tokens"]
        try:
            with self._errors(), failures.expected(self._server, "a number of tokens"):
                counted = await client.messages.count_tokens(**cast("MessageCountTokensParams", body))
                return int(counted.input_tokens)
        except BadResponse as error:
            if error.status in _NOT_OFFERED:
                return None
            raise

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    @contextmanager
    def _errors(self) -> Generator[None]:
        """Turn the SDK's errors into ours."""
        import anthropic
        import httpx2

        try:
            yield
        except anthropic.APIStatusError as error:
            raise failures.from_status(
                self._server, error.status_code, error.body, error.response.headers
            ) from error
        except anthropic.APIConnectionError as error:
            raise failures.from_network(self._server, error) from error
        except httpx2.TransportError as error:
            raise failures.cut(self._server, error) from error
        except (
            anthropic.AnthropicError,
            TypeError,
        ) as error:  # TypeError: how the SDK says that there is no key
            raise failures.not_sent(self._server, error) from error

    def _make_client(self) -> "AsyncAnthropic":
        import anthropic

        timeout = request_timeout()
        # no redirects: they would carry the conversation to an address nobody chose
        http = anthropic.DefaultAsyncHttpxClient(
            timeout=timeout, follow_redirects=False, event_hooks=response_hooks()
        )
        if self._platform == "bedrock":
            from anthropic.lib.bedrock import AsyncAnthropicBedrock

            bedrock = AsyncAnthropicBedrock(timeout=timeout, max_retries=0, http_client=http)
            return cast("AsyncAnthropic", bedrock)  # the same messages surface
        if self._platform == "vertex":
            from anthropic.lib.vertex import AsyncAnthropicVertex

            vertex = AsyncAnthropicVertex(timeout=timeout, max_retries=0, http_client=http)
            return cast("AsyncAnthropic", vertex)  # the same messages surface
        return anthropic.AsyncAnthropic(
            api_key=self._api_key or None,
            # something explicit, so that the SDK looks for no credentials of its own
            auth_token=self._auth_token or (None if self._api_key else "none"),
            base_url=self._base_url,
            timeout=timeout,
            max_retries=0,
            http_client=http,
        )


def _typed_body(body: JsonObject) -> "MessageCreateParamsStreaming":
    """Give the body as the SDK's type; the tests check that it is one."""
    return cast("MessageCreateParamsStreaming", {**body, "stream": True})

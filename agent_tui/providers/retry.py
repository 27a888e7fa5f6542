"""Sends a request again when that may help, visibly; falls back to other models; watches for silence."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from agent_tui.protocol.errors import Overloaded, ProviderError, RateLimited, StreamCut
from agent_tui.providers._silence import watched
from agent_tui.providers.base import (
    Completed,
    Counted,
    CountsTokens,
    Delta,
    ModelInfo,
    Provider,
    ProviderRequest,
    TextPiece,
    ThinkingPiece,
)

_LOG = logging.getLogger(__name__)
_LONGEST_NAMED_S = 30 * 86_400
"""From this wait on its end is not named as a time of day."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long. `attempts` counts the first try too.

    A wait doubles from `first_wait_s` up to `max_wait_s`; a server that asks for more than `max_wait_s` is not
    waited for. `idle_s` of silence (pings do not count) cut a stream. After `attempts_before_fallback` failures
    in a row a fallback model takes over for `fallback_s`.
    """

    attempts: int = 10
    first_wait_s: float = 0.5
    max_wait_s: float = 60.0
    idle_s: float = 300.0
    attempts_before_fallback: int = 3
    fallback_s: float = 300.0


@dataclass(frozen=True)
class RetryNotice:
    """A request failed and goes out again in `wait_s` seconds. `fallback` names the model that takes over, or ""."""

    attempt: int
    max_attempts: int
    wait_s: float
    reason: str
    fallback: str = ""


OnRetry = Callable[[RetryNotice], Awaitable[None]]


async def _silent(notice: RetryNotice) -> None:
    """Tell nobody."""


class RetryingProvider:
    """Wraps a provider: retries what may pass (overload, rate limit, network, a cut), never what was refused.

    Nothing is sent again once text or reasoning of the reply was given out: then StreamCut is raised, and whoever
    showed it decides. `on_retry` is awaited before each wait; it may be set later. Cancelling ends a wait.
    """

    def __init__(
        self,
        inner: Provider,
        *,
        fallbacks: Sequence[Provider] = (),
        policy: RetryPolicy | None = None,
        on_retry: OnRetry = _silent,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.on_retry = on_retry
        self._providers = (inner, *fallbacks)
        self._policy = policy or RetryPolicy()
        self._sleep, self._uniform, self._clock = sleep, uniform, clock
        self._index = 0
        self._fell_back_at = 0.0

    def twin(self) -> "RetryingProvider":
        """Give another one over the same connections, with retries and a fallback of its own; close only one."""
        first, *others = self._providers
        twin = RetryingProvider(
            first,
            fallbacks=others,
            policy=self._policy,
            sleep=self._sleep,
            uniform=self._uniform,
            clock=self._clock,
        )
        twin._index, twin._fell_back_at = self._index, self._fell_back_at
        return twin

    @property
    def name(self) -> str:
        """The name of the provider in use."""
        return self._current.name

    @property
    def model(self) -> str:
        """The model in use: the first, or a fallback for a while."""
        return self._current.model

    @property
    def context_tokens(self) -> int:
        """The window of the model in use."""
        return self._current.context_tokens

    @property
    def info(self) -> ModelInfo:
        """What is known of the model in use."""
        return self._current.info

    @property
    def inner(self) -> Provider:
        """The provider in use, without retries."""
        return self._current

    @property
    def all(self) -> Sequence[Provider]:
        """The first provider and its fallbacks, in the order they are tried."""
        return self._providers

    @property
    def _current(self) -> Provider:
        return self._providers[self._index]

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        """Stream with retries; the same deltas and errors as any provider's."""
        if self._index and self._clock() - self._fell_back_at > self._policy.fallback_s:
            self._index = 0
        async with aclosing(self._run(request)) as deltas:
            yield deltas

    async def models(self) -> Sequence[str]:
        """List the models of the provider in use."""
        return await self._current.models()

    async def count_tokens(self, request: ProviderRequest) -> int | None:
        """Count with the provider in use, where it can; nothing is tried again."""
        counting = self._current
        return await counting.count_tokens(request) if isinstance(counting, CountsTokens) else None

    async def aclose(self) -> None:
        """Close all providers."""
        for provider in self._providers:
            await provider.aclose()

    async def _run(self, request: ProviderRequest) -> AsyncGenerator[Delta]:
        attempt = 0
        while True:
            attempt += 1
            shown = False
            counted: Counted | None = None
            started = self._clock()
            sizes = len(request.messages), len(request.tools)
            _LOG.debug(
                "request to %s:%s, %d messages, %d tools, try %d", self.name, self.model, *sizes, attempt
            )
            try:
                async with (
                    self._current.stream(request) as deltas,
                    aclosing(self._watched(deltas)) as watched,
                ):
                    async for delta in watched:
                        shown = shown or isinstance(delta, TextPiece | ThinkingPiece)
                        counted = delta if isinstance(delta, Counted) else counted
                        yield delta
                        if isinstance(delta, Completed):
                            took_s, usage = self._clock() - started, delta.message.usage
                            _LOG.debug("reply of %s:%s in %.2f s, %s", self.name, self.model, took_s, usage)
                            return
                raise StreamCut(f"{self.model} ended its stream without a whole reply.")
            except (Overloaded, RateLimited, StreamCut) as error:
                _LOG.debug("request to %s:%s failed: %s", self.name, self.model, error)
                if shown:
                    raise _as_cut(error) from error
                if counted is not None:
                    yield Counted(counted.usage, is_lost=True)
                attempt = await self._before_next(error, attempt)

    async def _watched(self, deltas: AsyncIterator[Delta]) -> AsyncGenerator[Delta]:
        try:
            async with aclosing(watched(deltas, self._policy.idle_s)) as found:
                async for together in found:
                    for delta in joined(together):
                        yield delta
        except TimeoutError as error:
            raise StreamCut(f"{self.model} sent nothing for {self._policy.idle_s:.0f} s.") from error

    async def _before_next(self, error: ProviderError, attempt: int) -> int:
        """Wait before the next attempt, or switch models; give the number of attempts made. Raises `error`."""
        policy = self._policy
        too_long = error.retry_after_s is not None and error.retry_after_s > policy.max_wait_s
        tired = attempt >= policy.attempts_before_fallback or too_long
        if tired and self._index + 1 < len(self._providers) and isinstance(error, Overloaded | RateLimited):
            self._index += 1
            self._fell_back_at = self._clock()
            await self.on_retry(RetryNotice(0, policy.attempts, 0.0, str(error), fallback=self.model))
            return 0
        if too_long:
            raise _with_text(
                error, f"{error} It wants {_span(error.retry_after_s or 0)}; that is too long to wait here."
            )
        if attempt >= policy.attempts:
            # a cut would be tried again by the loop, which cannot know that it was tried enough
            final = Overloaded(str(error)) if isinstance(error, StreamCut) else error
            raise _with_text(final, f"{error} Gave up after {attempt} attempts.")
        wait_s = self._wait(error, attempt)
        await self.on_retry(RetryNotice(attempt, policy.attempts, wait_s, str(error)))
        await self._sleep(wait_s)
        return attempt

    def _wait(self, error: ProviderError, attempt: int) -> float:
        if error.retry_after_s:
            return error.retry_after_s + self._uniform(0.0, 0.1 * error.retry_after_s)
        full = min(self._policy.max_wait_s, self._policy.first_wait_s * 2 ** (attempt - 1))
        return self._uniform(full / 2, full)


def joined(deltas: Sequence[Delta]) -> Sequence[Delta]:
    """Make one piece of neighbouring pieces of text, and of reasoning: 20,000 that come at once are some 200 then."""
    whole: list[Delta] = []
    for kind, run in groupby(deltas, type):
        pieces = list(run)
        if len(pieces) > 1 and issubclass(kind, TextPiece | ThinkingPiece):
            texts = [piece.text for piece in pieces if isinstance(piece, TextPiece | ThinkingPiece)]
            pieces = [kind("".join(texts))]
        whole += pieces
    return whole


def _as_cut(error: ProviderError) -> StreamCut:
    if isinstance(error, StreamCut):
        return error
    return StreamCut(str(error), status=error.status, retry_after_s=error.retry_after_s)


def _with_text(error: ProviderError, text: str) -> ProviderError:
    return type(error)(text, status=error.status, retry_after_s=error.retry_after_s)


def _span(seconds: float) -> str:
    """Name a wait and the time of day it ends."""
    length = (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.0f} h"
    )
    if seconds > _LONGEST_NAMED_S:  # no calendar reaches as far as some servers say
        return f"a wait of {length}"
    until = (datetime.now().astimezone() + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M")
    return f"a wait of {length}, until {until}"

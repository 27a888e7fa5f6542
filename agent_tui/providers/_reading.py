"""Reads the body of a streamed answer, whatever it turns out to be, and drives a fold with its events."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Protocol

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import BadResponse, StreamCut
from agent_tui.protocol.messages import AssistantMessage
from agent_tui.providers import _failures as failures
from agent_tui.providers._sse import MAX_EVENT_BYTES, EventSplitter, TooLarge, parse_object, peek
from agent_tui.providers.base import Completed, Delta

_DONE = b"[DONE]"


class Fold(Protocol):
    """Gathers one reply from its events."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        ...

    def feed(self, event: JsonObject) -> Sequence[Delta]:
        """Take one event. Raises BadResponse."""
        ...

    def feed_whole(self, body: JsonObject) -> Sequence[Delta]:
        """Take a reply that came as one JSON body. Raises BadResponse."""
        ...

    def done(self) -> None:
        """Take the server's word that the stream is complete."""
        ...

    def finish(self) -> Sequence[Delta]:
        """Take the end of the stream; give what was held back."""
        ...

    def message(self) -> AssistantMessage:
        """Give the reply. Raises StreamCut when it is not whole."""
        ...

    def describe(self) -> str:
        """Say how far the reply came."""
        ...


async def read_reply(
    chunks: AsyncIterator[bytes], fold: Fold, server: failures.Server
) -> AsyncGenerator[Delta]:
    """Give the deltas of a reply that comes as events or as one JSON body, Completed last.

    Raises StreamCut when it ends or breaks early, BadResponse for what is no reply, and the error the server
    put into the stream.
    """
    import httpx2  # comes with the SDKs, which are loaded by now

    try:
        first, start = await peek(chunks)
        if first == b"<":
            raise failures.web_page(server, start.decode("utf-8", "replace"))
        if first == b"{":
            for delta in whole_reply(await _whole(start, chunks), fold, server):
                yield delta
        else:
            splitter = EventSplitter()
            for _, data in splitter.feed(start):
                for delta in take(data, fold, server):
                    yield delta
            async for chunk in chunks:
                for _, data in splitter.feed(chunk):
                    for delta in take(data, fold, server):
                        yield delta
            for _, data in splitter.finish():
                for delta in take(data, fold, server, is_last=True):
                    yield delta
    except TooLarge as error:
        raise BadResponse(f"{server.name} sent too much: {error}. The reply was dropped.") from error
    except httpx2.DecodingError as error:
        raise BadResponse(
            server.clean(f"{server.name} sent a body that cannot be unpacked: {error}")
        ) from error
    except httpx2.TransportError as error:
        if not fold.is_whole:
            raise failures.cut(server, error, where=f" {fold.describe()}") from error
    for delta in fold.finish():
        yield delta
    yield Completed(fold.message())


async def _whole(start: bytes, chunks: AsyncIterator[bytes]) -> bytes:
    """Read a whole body. Raises TooLarge."""
    parts, size = [start], len(start)
    async for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_EVENT_BYTES:
            raise TooLarge("a body is larger than 64 MiB")
    return b"".join(parts)


def take(data: bytes, fold: Fold, server: failures.Server, *, is_last: bool = False) -> Sequence[Delta]:
    """Feed the data of one event. `is_last` marks what the end of the stream may have cut."""
    if data == _DONE:
        fold.done()
        return ()
    try:
        event = parse_object(data)
    except ValueError as error:
        if b"\n" in data:  # some servers forget the blank line between events
            lines = [line for line in data.split(b"\n") if line.strip()]
            return [delta for line in lines for delta in take(line, fold, server, is_last=is_last)]
        if is_last:
            return ()  # half an event; `message` tells whether the reply lacks it
        raise BadResponse(f"{server.name} sent an event that is no JSON ({error}).") from error
    return _feed(event, fold, server)


def _feed(event: JsonObject, fold: Fold, server: failures.Server) -> Sequence[Delta]:
    problem = error_in(event)
    if problem is not None:
        raise failures.from_kind(server, problem)
    return fold.feed(event)


def whole_reply(body: bytes, fold: Fold, server: failures.Server) -> Sequence[Delta]:
    """Feed a reply that came as one JSON body although a stream was asked for."""
    try:
        parsed = parse_object(body.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise StreamCut(f"The answer of {server.inside} is cut off ({error}).") from error
    problem = error_in(parsed)
    if problem is not None:
        raise failures.from_kind(server, problem)
    return fold.feed_whole(parsed)


def error_in(event: JsonObject) -> JsonObject | None:
    """Find the error a server put into an event or body."""
    if event.get("type") == "error":
        return event
    error = event.get("error")
    if isinstance(error, dict):
        return {"error": error}
    if isinstance(error, str) and error:
        return {"message": error}
    response = event.get("response")
    if isinstance(response, dict) and isinstance(response.get("error"), dict):
        return {"error": response["error"]}
    return None

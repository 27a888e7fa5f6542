import random
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.protocol.errors import BadResponse
from agent_tui.providers._chat_stream import ChatFold
from agent_tui.providers._failures import Server
from agent_tui.providers._reading import read_reply
from agent_tui.providers._sse import EventSplitter, parse_object, peek

STREAM = 'event: a\ndata: {"x":"é🎈"}\n\n: comment\n\nevent: b\nid: 7\nretry: 10\ndata:{"y":1}\n\ndata: [DONE]\n\n'.encode()
EVENTS = [(b"a", '{"x":"é🎈"}'.encode()), (b"b", b'{"y":1}'), (b"", b"[DONE]")]


def split(stream: bytes, sizes: list[int]) -> list[tuple[bytes, bytes]]:
    splitter, events, start = EventSplitter(), [], 0
    for size in [*sizes, len(stream)]:
        events += splitter.feed(stream[start : start + size])
        start += size
    return events + splitter.finish()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_lines_end_and_chunks_fall(end: bytes, size: int) -> None:
    stream = STREAM.replace(b"\n", end)

    assert split(stream, [size] * (len(stream) // size)) == EVENTS


@given(st.lists(st.integers(1, 20), max_size=200))
def test_events_are_the_same_for_any_cuts(sizes: list[int]) -> None:
    assert split(STREAM.replace(b"\n", b"\r\n"), sizes) == EVENTS


@pytest.mark.parametrize("size", [1, 2, 100])
def test_pr_24_a_byte_order_mark_is_skipped(size: int) -> None:
    stream = b"\xef\xbb\xbf" + STREAM

    assert split(stream, [size] * (len(stream) // size)) == EVENTS


def test_lines_of_one_event_are_joined() -> None:
    assert split(b"data: {\ndata: }\n\n", []) == [(b"", b"{\n}")]


def test_an_event_without_its_blank_line_still_counts_at_the_end() -> None:
    assert split(b"data: 1", []) == [(b"", b"1")]


def test_an_event_that_never_ends_is_refused() -> None:
    splitter = EventSplitter()
    with pytest.raises(ValueError, match="64 MiB"):
        splitter.feed(b"data: " + b"x" * (65 * 1024 * 1024))


@pytest.mark.parametrize(
    "chunk",
    [b"x" * 65_536, b"data: x\n" * 8_192, b"data:\n" * 8_192],
    ids=["one-line", "lines", "empty-lines"],
)
async def test_what_never_ends_is_refused_before_it_fills_the_memory(chunk: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(2_000):
            yield chunk

    server = Server(name="S", base_url="http://localhost", key_hint="", model="m")
    fold = ChatFold(provider="openai", model="m", used_ids=(), tools=())
    with pytest.raises(BadResponse, match=r"S sent too much: one event of the stream is larger than 64 MiB"):
        async for _ in read_reply(chunks(), fold, server):
            pass


async def test_blanks_before_an_answer_are_not_kept() -> None:
    taken = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(2_000):
            taken += 1
            yield b" " * 65_536
        yield b"{"

    assert await peek(chunks()) == (b"{", b" {")
    assert taken == 2_000


@pytest.mark.parametrize("data", [b"[1]", b"null", b'{"a":', b""])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_object(data)


@pytest.mark.parametrize(
    ("body", "first"),
    [(b"  \n{}", b"{"), (b"\xef\xbb\xbf<html>", b"<"), (b"data: 1", b"d"), (b" ", b""), (b"", b"")],
)
async def test_the_first_byte_tells_what_a_body_is(body: bytes, first: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(len(body)):
            yield body[start : start + 1]

    found, read = await peek(chunks())

    assert found == first
    assert body.startswith(read)


def test_random_noise_never_raises_from_the_splitter() -> None:
    dice = random.Random(1)
    for _ in range(200):
        noise = bytes(dice.choice(b"data: \r\n{}:x\xff") for _ in range(60))
        whole = split(noise, [])
        assert split(noise, [dice.randrange(1, 5) for _ in range(60)]) == whole

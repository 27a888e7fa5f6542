import asyncio
import gc
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.transcript.blocks import Block, Look
from agent_tui.ui.transcript.collect import Collector, give_back
from agent_tui.ui.transcript.stream import make_stream
from tests.support.transcript_host import Host, lines, settle
from tests.support.work import calls_of

SIZE = (60, 16)
REPLY = """# Title

Some **bold** text.

```python
def f():
    return 1
```

| a | b |
|---|---|
| 1 | 2 |
"""


async def test_a_streamed_reply_ends_as_the_loaded_one_looks() -> None:
    loaded, app = Host([ReplayBlock("assistant", REPLY)]), Host()
    async with loaded.run_test(size=SIZE):
        wanted = loaded.rows()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        for char in REPLY:
            app.transcript.stream_append(index, char)
        await pilot.pause(0.06)
        app.transcript.stream_end(index)
        app.transcript.flush()
        await settle(pilot)

        assert app.rows() == wanted
        assert app.transcript.source(index) == REPLY
        assert app.transcript.document.streams == {}


async def test_text_appears_while_it_streams() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        app.transcript.stream_append(index, "hello ")
        app.transcript.stream_append(index, "there")
        app.transcript.flush()
        await settle(pilot)

        assert app.rows()[0].strip() == "hello there"


async def test_appends_are_drawn_at_most_20_times_a_second() -> None:
    app = Host()
    async with app.run_test(size=SIZE):
        index = app.transcript.stream_start("assistant")
        frames: list[float] = []
        stream = app.transcript.document.streams[index]
        flush = stream.flush
        stream.flush = lambda limit=1 << 60: (frames.append(time.perf_counter()), flush(limit))[1]
        began = time.perf_counter()
        while len(frames) < 6:
            app.transcript.stream_append(index, "x ")
            await asyncio.sleep(0.001)

        assert frames[-1] - began > 4 / 20


async def test_tu_23_a_long_reply_costs_the_same_in_its_second_half() -> None:
    app = Host()
    section = REPLY + "\n" + "Words of a paragraph that goes on for a while. " * 8 + "\n\n"
    async with app.run_test(size=SIZE):
        index = app.transcript.stream_start("assistant")
        calls = [0, 0]
        pieces = (section * 230)[:200_000]

        def append(piece: str) -> None:
            app.transcript.stream_append(index, piece)
            app.transcript.flush()

        for start in range(0, len(pieces), 250):
            piece = pieces[start : start + 250]
            calls[start * 2 // len(pieces)] += calls_of(lambda piece=piece: append(piece))

        assert calls[1] < 1.1 * calls[0]


async def test_a_flood_of_text_is_laid_out_over_several_frames_and_ends_whole() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        app.transcript.stream_append(index, lines(5_000, "- item"))
        app.transcript.stream_end(index)
        behind = bool(app.transcript.document.streams)
        while app.transcript.document.dirty:
            await pilot.pause(0.01)
        await settle(pilot)

        assert behind
        assert app.transcript.document.streams == {}
        assert app.rows()[-1].strip() == "• item 4999"


def test_a_flood_of_thinking_is_laid_out_so_many_characters_at_a_time_and_ends_whole() -> None:
    block = Block(ReplayBlock("thinking", ""), 1)
    block.open = True
    text = lines(2_000, "idea") + "\r\nand the last"
    stream, whole = (make_stream(block, Look(Inks(Palette.DARK), 60)) for _ in range(2))
    stream.append(text)
    whole.append(text)
    whole.flush()
    heights: list[int] = []
    while stream.is_behind:
        stream.flush(100)
        heights.append(stream.height)

    assert len(heights) == -(-len(text) // 100)
    assert max(after - before for before, after in pairwise(heights)) <= 100
    assert [stream.row(at) for at in range(stream.height)] == [whole.row(at) for at in range(whole.height)]
    assert stream.text == text


async def test_thinking_streams_its_last_rows_and_folds_when_it_ends() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("thinking")
        app.transcript.stream_append(index, lines(30, "idea"))
        app.transcript.flush()
        await settle(pilot)
        live = app.shown()
        app.transcript.stream_end(index)
        app.transcript.flush()
        await settle(pilot)

        assert "Thinking" in live
        assert "idea 29" in live
        assert "idea 3\n" not in live
        assert app.rows()[0].split()[:3] == ["∴", "Thought", "idea"]


async def test_thinking_that_was_opened_streams_all_of_it() -> None:
    app = Host()
    async with app.run_test(size=(60, 40)) as pilot:
        index = app.transcript.stream_start("thinking")
        app.transcript.stream_append(index, lines(15, "idea"))
        app.transcript.toggle(index)
        app.transcript.stream_append(index, "\nlast")
        app.transcript.flush()
        app.transcript.stream_end(index)
        await settle(pilot)

        assert "idea 0" in app.shown()
        assert "last" in app.shown()


async def test_an_ended_or_unknown_stream_ignores_text() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        app.transcript.stream_append(index, "kept")
        app.transcript.stream_end(index)
        app.transcript.stream_append(index, " dropped")
        app.transcript.stream_append(99, "dropped")
        app.transcript.stream_end(99)
        await settle(pilot)

        assert app.transcript.source(index) == "kept"


async def test_an_empty_stream_takes_no_room() -> None:
    app = Host([ReplayBlock("user", "hi")])
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        app.transcript.stream_end(index)
        app.transcript.add(ReplayBlock("notice", "after"))
        await settle(pilot)

        assert [row.strip() for row in app.rows()[:3]] == ["▌ hi", "", "after"]


async def test_escapes_in_a_stream_are_shown_even_when_cut_between_deltas() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        for char in "a\x1b]0;pwn\x07b\r\nc":
            app.transcript.stream_append(index, char)
            app.transcript.flush()
        await settle(pilot)

        assert [row.strip() for row in app.rows()[:2]] == ["a␛]0;pwn␇b", "c"]


async def test_finished_rows_keep_their_strips_while_the_tail_grows() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        app.transcript.stream_append(index, "one\n\ntwo\n\nthree\n\n")
        app.transcript.flush()
        await settle(pilot)
        before = app.transcript.render_lines(app.transcript.size.region)
        app.transcript.stream_append(index, "four")
        app.transcript.flush()
        await settle(pilot)
        after = app.transcript.render_lines(app.transcript.size.region)

        assert after[0] is before[0]
        assert after[2] is before[2]
        assert after[6].text.strip() == "four"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def gc_restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("gc_restored")
def test_everything_is_collected_only_when_turns_passed_and_nobody_acts() -> None:
    clock = Clock()
    collector = Collector(clock)
    collector.started()
    for _ in range(20):
        collector.turn_ended()

    assert not collector.idle()
    clock.now = 1.9
    collector.active()
    clock.now = 3.0
    assert not collector.idle()
    clock.now = 4.0
    assert collector.idle()
    assert not collector.idle()


@pytest.mark.usefixtures("gc_restored")
def test_memory_is_given_back_once_everything_was_collected() -> None:
    clock, calls = Clock(), list[float]()

    def given_back() -> None:
        give_back()  # whatever the C library is
        calls.append(clock.now)

    collector = Collector(clock, size_mib=lambda: 10.0 * clock.now, give_back=given_back)
    collector.started()
    clock.now = 1.5
    collector.idle()
    assert calls == []
    clock.now = 3.0

    assert collector.idle()
    assert calls == [3.0]


@pytest.mark.usefixtures("gc_restored")
def test_what_is_free_is_given_back_before_everything_is_collected() -> None:
    clock, calls, sizes = Clock(), list[float](), iter([100.0, 103.0, 105.0])
    collector = Collector(clock, size_mib=lambda: next(sizes), give_back=lambda: calls.append(clock.now))
    collector.started()
    clock.now = 3.0
    assert not collector.idle()
    assert calls == []

    assert not collector.idle()
    assert calls == [3.0]

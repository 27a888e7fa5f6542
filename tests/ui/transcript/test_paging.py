import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from agent_tui.protocol.replay import BlockKind, ReplayBlock, StoredText
from agent_tui.sessions.session import Session
from agent_tui.ui.paging import OldTexts, Replies
from agent_tui.ui.palette import Palette
from agent_tui.ui.plain_text import conversation_text
from agent_tui.ui.transcript.document import Document
from agent_tui.ui.transcript.selection import place
from tests.support.fake_backend import FakeBackend
from tests.support.long_session import long_session
from tests.support.session_world import file_of
from tests.support.transcript_host import Host, settle

SIZES = [(60, 20), (34, 9), (90, 28)]


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    session = await long_session(tmp_path, turns=25)
    yield session
    await session.aclose()


class Twins:
    """The same conversation twice: one with its texts on disk, one with all of them in memory."""

    def __init__(self, paged: Host, whole: Host, pilots: tuple[Pilot[None], Pilot[None]]) -> None:
        self._hosts, self._pilots = (paged, whole), pilots

    async def step(self, chance: random.Random) -> str:
        count = len(self._hosts[0].transcript.document)
        index, other, rows = chance.randrange(count), chance.randrange(count), chance.randint(-60, 60)
        lines = sorted([(index, chance.randint(0, 3)), (other, chance.randint(0, 9))])
        selection = Selection(*(Offset(chance.randint(0, 9), place(*line)) for line in lines))
        word, size = chance.choice(["needle", "Needle", "日本", "bold", "nothing"]), chance.choice(SIZES)
        what = chance.choice(["rows", "page", "reveal", "toggle", "all", "search", "next", "copy", "resize"])
        answers: list[object] = []
        for host, pilot in zip(self._hosts, self._pilots, strict=True):
            view = host.transcript
            match what:
                case "rows":
                    answers.append(view.scroll_rows(rows))
                case "page":
                    answers.append(view.scroll_page(1 if rows > 0 else -1))
                case "reveal":
                    answers.append(view.reveal(index))
                case "toggle":
                    answers.append(view.toggle(index))
                case "all":
                    answers.append(view.toggle_all())
                case "search":
                    answers.append((await view.search(word), view.matches))
                case "next":
                    answers.append(view.next_match(1 if rows > 0 else -1))
                case "copy":
                    answers.append((view.get_selection(selection), view.source(index)))
                case _:
                    await pilot.resize_terminal(*size)
            await settle(pilot)
        assert answers[:1] == answers[1:], what
        return what

    def screens(self) -> list[list[object]]:
        return [[*host.strips(), host.transcript.scroll_y] for host in self._hosts]


@pytest.mark.parametrize("seed", range(4))
async def test_a_conversation_on_disk_looks_and_reads_like_one_in_memory(session: Session, seed: int) -> None:
    chance = random.Random(seed)
    paged, whole = Host(session.paged_replay(kept=chance.choice([0, 20]))), Host(session.replay())
    async with paged.run_test(size=SIZES[0]) as first, whole.run_test(size=SIZES[0]) as second:
        twins = Twins(paged, whole, (first, second))
        for number in range(25):
            what = await twins.step(chance)

            left, right = twins.screens()
            assert left == right, (number, what)
        dumps = [
            conversation_text([b.data for b in host.transcript.document.blocks]) for host in (paged, whole)
        ]

    assert dumps[0] == dumps[1]


async def test_a_block_whose_text_is_gone_says_so_and_the_rest_goes_on(session: Session) -> None:
    host = Host(session.paged_replay(kept=0))
    async with host.run_test(size=(200, 30)) as pilot:
        view = host.transcript
        view.toggle_all()
        file_of(session).unlink()
        view.document.relook()
        kinds: set[str] = set()
        for index, block in enumerate(view.document.blocks):
            view.reveal(index)
            await settle(pilot)
            if block.data.stored is not None and block.data.kind not in kinds:
                kinds.add(block.data.kind)
                assert "The text of this block cannot be read" in host.shown()

        assert kinds == {"user", "assistant", "thinking", "tool", "notice"}
        assert await view.search("nothing of the kind") == 0


async def test_a_search_gives_up_when_another_begins_or_the_conversation_is_another(session: Session) -> None:
    blocks = [*session.paged_replay(kept=0)] * 60  # longer than one slice
    host = Host(blocks)
    async with host.run_test(size=SIZES[0]):
        view = host.transcript
        worker = host.run_worker(view.search("needle"))
        await settle_started(host)
        second = await view.search("hay")
        assert await worker.wait() is None
        assert second == len(view.matches) > 0

        worker = host.run_worker(view.search("needle"))
        await settle_started(host)
        view.load([ReplayBlock("user", "needle")])
        assert await worker.wait() is None
        assert view.matches == []


async def settle_started(host: Host) -> None:
    while host.transcript.needle != "needle":
        await asyncio.sleep(0)


class Stored(FakeBackend):
    """Knows the texts of a session's file."""

    def __init__(self, workspace: Path, session: Session) -> None:
        super().__init__(workspace)
        self._session = session
        self.asked: list[int] = []

    async def texts_since(self, offset: int) -> Mapping[tuple[BlockKind, str], StoredText]:
        self.asked.append(offset)
        return self._session.texts_since(offset)


def as_written_now(session: Session) -> list[ReplayBlock]:
    return [replace(block, record_id="") for block in session.replay()]


async def test_texts_of_this_run_are_let_go_once_they_are_far_above(tmp_path: Path) -> None:
    session = await long_session(tmp_path, turns=150)
    document, written = Document(Palette.DARK), as_written_now(session)
    written[3].text = "masked in the file: " + written[3].text * 10
    for data in written:
        document.add(replace(data))
    old, backend = OldTexts(document), Stored(tmp_path, session)

    assert old.are_many()
    await old.leave(backend)

    far = document.blocks[:-500]
    assert len([block for block in far if block.data.stored]) > 200
    assert document.old_texts() == [
        at for at, block in enumerate(written[:-500]) if len(block.text) >= 256 and at in (3, *_cut(written))
    ]
    assert not [block for block in document.blocks[-500:] if block.data.stored]
    assert [block.text for block in document.blocks] == [data.text for data in written]
    assert not old.are_many()

    for data in written * 2:
        document.add(replace(data))
    assert old.are_many()
    await old.leave(backend)
    assert backend.asked[0] == 0 < backend.asked[1]
    await session.aclose()


def _cut(blocks: list[ReplayBlock]) -> list[int]:
    return [at for at, block in enumerate(blocks) if block.state == "interrupted"]


async def test_replies_are_read_when_they_are_asked_for(session: Session) -> None:
    host = Host(session.paged_replay(kept=0))
    async with host.run_test(size=SIZES[0]):
        replies = Replies(host.transcript)

        known = [block.text for block in session.replay() if block.kind == "assistant"]
        assert list(replies) == known
        assert (replies[-2], replies[1:3]) == (known[-2], known[1:3])

import itertools
import random

import pyte
import pytest
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import ComposeResult
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Static, TextArea

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.render.rowdiff import RowDiff, RowDiffApp
from agent_tui.ui.transcript.view import Transcript
from tests.support.transcript_host import lines, panel

WORDS = [
    "alpha",
    "beta ",
    "`x`",
    "\n",
    "\n\n",
    "- ",
    "日本語",
    "e\u0301",
    "👍",
    "**b**",
    "```\n",
    " gamma",
    "1. ",
]


class Terminal(pyte.Screen):
    def scroll_up(self, count: int = 1, **_: object) -> None:
        self._move(count, self.delete_lines)

    def scroll_down(self, count: int = 1, **_: object) -> None:
        self._move(count, self.insert_lines)

    def _move(self, count: int, change: object) -> None:
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        assert callable(change)
        change(count or 1)
        self.cursor.x, self.cursor.y = x, y

    def cells(self) -> list[list[tuple[object, ...]]]:
        return [[tuple(self.buffer[y][x]) for x in range(self.columns)] for y in range(self.lines)]


class TerminalStream(pyte.Stream):
    csi = {**pyte.Stream.csi, "S": "scroll_up", "T": "scroll_down"}
    events = pyte.Stream.events | {"scroll_up", "scroll_down"}


class Popup(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        yield Static("a box over it\nof two rows")


class Compared(RowDiffApp[None]):
    CSS = "Transcript { height: 1fr; } TextArea { height: 3; } Popup Static { width: 20; height: 4; margin: 3 9; background: red; }"

    def __init__(self) -> None:
        super().__init__()
        self.transcript = Transcript()
        self.rows = RowDiff()
        self.plain_bytes = self.diff_bytes = self.frames = 0
        self.bad: list[str] = []
        self.shape = (0, 0)

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield TextArea()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and self.size.width:
            self.compare(renderable)
        super()._display(screen, None)

    def compare(self, update: LayoutUpdate | ChopsUpdate) -> None:
        if self.shape != tuple(self.size):
            self.shape = tuple(self.size)
            self.plain, self.diffed = (Terminal(*self.shape) for _ in range(2))
            self.streams = [TerminalStream(self.plain), TerminalStream(self.diffed)]
        console = Console(color_system="truecolor", force_terminal=True)
        plain = update.render_segments(console).replace("\n", "\r\n")
        diffed = self.rows.encode(update, console, self.shape)
        self.streams[0].feed(plain)
        self.streams[1].feed(diffed)
        self.plain_bytes += len(plain.encode())
        self.diff_bytes += len(diffed.encode())
        self.frames += 1
        for y, (one, two) in enumerate(zip(self.plain.cells(), self.diffed.cells(), strict=True)):
            if one != two:
                self.bad.append(
                    f"frame {self.frames} row {y}: {self.plain.display[y]!r} != {self.diffed.display[y]!r}"
                )


@pytest.mark.parametrize("seed", range(3))
async def test_the_terminal_shows_the_same_after_every_frame_of_a_random_life(seed: int) -> None:
    chance = random.Random(seed)
    app = Compared()
    async with app.run_test(size=(50, 16)) as pilot:
        transcript = app.transcript
        transcript.load([ReplayBlock("assistant", f"# {n}\n\n{lines(4, 'wörd')}") for n in range(40)])
        stream = transcript.stream_start("assistant")
        for step in itertools.count():
            if step >= 45 and app.frames > 30:  # a busy machine draws several steps in one frame
                break
            match chance.randrange(12):
                case 0:
                    transcript.scroll_rows(chance.choice([-3, 3, -1, -9]))
                case 1:
                    transcript.go_end()
                case 2:
                    transcript.add(
                        panel(f"c{step}", lines(chance.randrange(9)), state=chance.choice(["done", "error"]))
                    )
                case 3:
                    transcript.toggle(chance.randrange(len(transcript.document)))
                case 4:
                    app.query_one(TextArea).insert(chance.choice(WORDS))
                case 5 if len(app.screen_stack) == 1:
                    await app.push_screen(Popup())
                case 6 if len(app.screen_stack) > 1:
                    await app.pop_screen()
                case 7 if step % 3 == 0:
                    await pilot.resize_terminal(chance.randrange(20, 60), chance.randrange(6, 20))
                case _:
                    for _ in range(6):
                        transcript.stream_append(stream, chance.choice(WORDS))
                    transcript.flush()
            await pilot.pause()

    assert app.bad == []


async def test_a_stream_that_follows_writes_a_fraction_of_the_bytes() -> None:
    app = Compared()
    async with app.run_test(size=(100, 24)) as pilot:
        stream = app.transcript.stream_start("assistant")
        for number in range(90):
            app.transcript.stream_append(
                stream, f"word {number} of a line that is written " + ("\n\n" if number % 3 else "")
            )
            app.transcript.flush()
            await pilot.pause()

    assert app.bad == []
    assert app.diff_bytes < app.plain_bytes / 5


def test_long_blanks_are_erased_only_where_erasing_looks_the_same() -> None:
    console = Console(color_system="truecolor", force_terminal=True)
    region = Region(0, 0, 40, 1)

    def write(style: str, *, erases: bool = True) -> str:
        strip = Strip([Segment("ab", Style.parse(style)), Segment(" " * 38, Style.parse(style))], 40)
        return RowDiff(erases=erases).encode(LayoutUpdate([[strip]], region), console, (40, 1))

    assert "\x1b[38X\x1b[38C" in write("#ffffff on #102030")
    assert "\x1b[38X" in write("#040709 on color(4)")
    assert " " * 38 in write("underline #ffffff on #102030")
    assert " " * 38 in write("reverse")
    assert " " * 38 in write("#ffffff on #102030", erases=False)


async def test_a_reset_writes_the_whole_screen_again() -> None:
    app = Compared()
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        console = Console(color_system="truecolor", force_terminal=True)
        update = app.screen._compositor.render_full_update()
        again = app.rows.encode(update, console, (40, 10))
        app.rows.reset()
        whole = app.rows.encode(app.screen._compositor.render_full_update(), console, (40, 10))

    assert again == ""
    assert whole.count("H") >= 10


def test_a_row_that_terminals_measure_differently_is_always_written_whole_and_its_neighbours_too() -> None:
    console = Console(color_system="truecolor", force_terminal=True)
    rows = RowDiff()
    region = Region(0, 0, 12, 2)

    def write(first: str, second: str) -> str:
        return rows.encode(
            LayoutUpdate([[Strip([Segment(first)], 12)], [Strip([Segment(second)], 12)]], region),
            console,
            (12, 2),
        )

    write("👩\u200d👧 family  ", "plain       ")

    assert write("👩\u200d👧 family  ", "plain       ") == "\x1b[1;1H👩\u200d👧 family  \x1b[2;1Hplain       "
    assert write("plain again ", "plain       ") == "\x1b[1;1Hplain again "
    assert write("plain again!", "plain       ") == "\x1b[1;12H!"

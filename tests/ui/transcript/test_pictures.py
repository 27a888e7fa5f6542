import random

import pytest

from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.toolkit.images import image_label, recognise
from agent_tui.ui.render.safe import clean_line
from tests.support.transcript_host import Host, panel, settle

SIZE = (60, 24)
LABEL = "PNG, 640x480 pixels, 12,345 bytes, shots/start.png"
HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m[bold]x[/bold]",
    "\x1b_Gf=100,a=T;AAAA\x1b\\",
    "\x1bPq#0;2;0;0;0#0~~@@\x1b\\",
    "a\nb\rc\u202egnp.exe\u200b",
    "\ud800half",
    "x" * 200_000,
    "字" * 5_000,
    "",
)


def where(app: Host, text: str) -> tuple[int, int]:
    for y, row in enumerate(app.rows()):
        if text in row:
            return row.index(text), y
    raise AssertionError(app.shown())


async def test_an_image_has_its_line_whether_its_panel_is_open_or_closed() -> None:
    app = Host([panel("1", "Image shots/start.png", images=(LABEL,))])
    async with app.run_test(size=SIZE) as pilot:
        closed = app.rows()[:2]
        app.transcript.toggle(0)
        await settle(pilot)
        opened = app.rows()[:3]

    assert closed[1].strip() == f"│ ▧ {LABEL}"
    assert opened[1].strip() == "│ Image shots/start.png"
    assert opened[2].strip() == f"│ ▧ {LABEL}"


async def test_the_images_of_a_prompt_stand_below_its_words() -> None:
    app = Host([ReplayBlock("user", "What is this?", images=(LABEL, "second"))])
    async with app.run_test(size=SIZE):
        rows = [row.strip(" ▌") for row in app.rows()[:3]]

    assert rows == ["What is this?", f"▧ {LABEL}", "▧ second"]


async def test_many_images_are_counted_in_the_last_line() -> None:
    app = Host([panel("1", "out", images=tuple(f"image {n}" for n in range(25)))])
    async with app.run_test(size=SIZE):
        rows = [row.strip(" │▧") for row in app.rows() if "▧" in row]

    assert rows == [*(f"image {n}" for n in range(9)), "and 16 more images"]


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_click_on_the_line_and_the_key_open_the_images(is_open: bool) -> None:
    asked: list[tuple[str, str]] = []

    class Listening(Host):
        def on_transcript_open_pictures(self, event: object) -> None:
            asked.append((getattr(event, "call_id", ""), getattr(event, "prompt", "")))

    blocks = [ReplayBlock("user", "Look", images=("of the prompt",)), panel("1", "out", images=(LABEL,))]
    app = Listening(blocks)
    async with app.run_test(size=SIZE) as pilot:
        if is_open:
            app.transcript.toggle(1)
            await settle(pilot)
        await pilot.click(offset=where(app, "640x480"))
        await pilot.click(offset=where(app, "of the prompt"))
        app.transcript.open_full(1)
        await settle(pilot)

    assert asked == [("1", ""), ("", "Look"), ("1", "")]


@pytest.mark.parametrize("label", HOSTILE)
@pytest.mark.parametrize("is_open", [False, True])
async def test_hostile_labels_never_raise_and_never_reach_the_terminal_raw(label: str, is_open: bool) -> None:
    blocks = [ReplayBlock("user", "Look", images=(label,)), panel("1", "out", images=(label, label))]
    app = Host(blocks)
    async with app.run_test(size=SIZE) as pilot:
        if is_open:
            app.transcript.toggle(1)
        await settle(pilot)
        text = "".join(segment.text for strip in app.strips() for segment in strip)
        widths = {strip.cell_length for strip in app.strips()}

    assert all(char >= " " and not "\x7f" <= char <= "\x9f" for char in text)
    assert not set(text) & set("\u202e\u200b\ud800")
    assert widths == {SIZE[0]}


def test_hostile_image_data_never_raises() -> None:
    rng = random.Random(7)
    heads = (
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"\xff\xd8\xff",
        b"RIFF\0\0\0\0WEBPVP8X",
        b"RIFF\0\0\0\0WEBPVP8L",
    )
    for number in range(2_000):
        data = heads[number % len(heads)] + rng.randbytes(rng.randrange(64))
        info = recognise(data)
        assert info is not None
        assert clean_line(image_label(info, len(data), "n")).isprintable()


def test_an_image_without_a_label_says_its_type_and_size() -> None:
    assert ImageBlock(media_type="image/png", data="AAAA").shown == "image/png, 3 bytes"

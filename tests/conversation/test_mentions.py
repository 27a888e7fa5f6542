import base64
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.conversation.clipboard import Clipboard
from agent_tui.conversation.core import Core
from agent_tui.conversation.images import LIMIT_BYTES, KeptImages
from agent_tui.conversation.mentions import Attachments, Mention, mentions
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import Event, Notice
from agent_tui.protocol.messages import DocumentBlock, ImageBlock, TextBlock, UserMessage
from agent_tui.providers.base import ModelInfo
from agent_tui.providers.scripted import ScriptedProvider, calls, text, use
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from tests.support.small_pdf import pdf
from tests.support.small_png import png


@dataclass
class Open:
    core: Core
    provider: ScriptedProvider
    project: Path
    events: list[Event]

    async def say(self, prompt: str) -> UserMessage:
        await self.core.run_turn(prompt)
        message = self.provider.requests[0].messages[-1]
        assert isinstance(message, UserMessage)
        return message

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


@pytest.fixture
async def opened(workspace: Path) -> AsyncIterator[Open]:
    (workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    (workspace / "two words.txt").write_text("both\n")
    (workspace / "src").mkdir()
    (workspace / "src" / "a.py").write_text("x = 1\n")
    (workspace / ".env").write_text("KEY=secret\n")
    core = await assemble(RunOptions(provider="offline"), workspace, with_screen=True)
    events: list[Event] = []

    async def sink(event: Event) -> None:
        events.append(event)

    core.bind(sink=sink, approver=_Nobody(), ask=None)
    provider = ScriptedProvider([text("seen")] * 3, info=ModelInfo(name="eyes", sees_images=True))
    core.agent.provider = provider
    yield Open(core, provider, workspace, events)
    await core.aclose()


class _Nobody:
    async def review(self, requests: object) -> dict[str, object]:
        return {}


def texts(message: UserMessage) -> list[str]:
    return [block.text for block in message.content if isinstance(block, TextBlock)]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("see @a.py", [Mention("a.py")]),
        ("@a.py#20-45 and @a.py#45-20", [Mention("a.py", 20, 45)]),
        ("@a.py#7", [Mention("a.py", 7, 7)]),
        ('@"two words.txt"#2-3 now', [Mention("two words.txt", 2, 3)]),
        ("mail me@example.org or (@no)", []),
        ("@a @b @a", [Mention("a"), Mention("b")]),
        pytest.param(f"@a#5-{'9' * 5_000}", [Mention("a", 5, 1_000_000_000)], id="a long number"),
    ],
)
def test_mentions_are_words_that_begin_with_an_at_sign(prompt: str, found: list[Mention]) -> None:
    assert mentions(prompt) == found


async def test_x23_a_range_of_a_mentioned_file_is_attached_exactly(opened: Open) -> None:
    message = await opened.say("explain @long.txt#20-22")

    attached = texts(message)[-2]
    assert "@long.txt#20-22" in attached
    assert [line.split("\t")[1] for line in attached.splitlines() if "\t" in line] == [
        "line 20",
        "line 21",
        "line 22",
    ]
    assert texts(message)[-1] == "explain @long.txt#20-22"


async def test_what_a_prompt_points_at_never_keeps_it_from_being_sent(
    opened: Open,
) -> None:
    async def faulty(_uri: str) -> str | None:
        raise KeyError("no such thing")

    attach = opened.core.agent._steps.attach
    assert isinstance(attach, Attachments)
    attach._resource = faulty

    message = await opened.say(f"see @db:rows and @src/a.py#{'9' * 5_000}")

    assert texts(message)[-1].startswith("see @db:rows")
    assert "@db:rows was not attached: 'no such thing'" in opened.notices[0]
    assert "was not attached" in opened.notices[1]


async def test_x23_whole_files_and_folders_are_attached_too(opened: Open) -> None:
    message = await opened.say('@"two words.txt" and @src/, please')

    said = "\n".join(texts(message))
    assert "     1\tboth" in said
    assert "a.py" in said


async def test_a_mentioned_file_counts_as_read(opened: Open) -> None:
    edit = use("edit", {"file_path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2"})
    opened.provider._replies = iter([calls(edit), text("done")])
    opened.core.set_mode("accept-edits")

    await opened.core.run_turn("change @src/a.py")

    assert (opened.project / "src" / "a.py").read_text() == "x = 2\n"


@pytest.mark.parametrize("word", ["@.env", "@/etc/hostname", "@~/.ssh/id_rsa"])
async def test_what_a_rule_would_ask_about_is_not_attached_by_a_mention(opened: Open, word: str) -> None:
    ssh = Path.home() / ".ssh"
    ssh.mkdir(parents=True, exist_ok=True)
    (ssh / "id_rsa").write_text("private")

    message = await opened.say(f"read {word}")

    assert texts(message)[-1] == f"read {word}"
    assert not any("attached" in said for said in texts(message))
    if Path(word[1:]).expanduser().exists() or word == "@.env":
        assert any(f"{word} was not attached" in notice for notice in opened.notices)


async def test_a_word_that_is_no_path_is_text(opened: Open) -> None:
    message = await opened.say("use @property of @types/node here, @v1.2 too")

    assert texts(message)[-1] == "use @property of @types/node here, @v1.2 too"
    assert opened.notices == []


async def test_what_looks_like_a_file_and_is_none_is_sent_as_text_and_told(opened: Open) -> None:
    message = await opened.say("see @nothing.txt, @./src/no and @src/a.pyy.")

    assert texts(message)[-1] == "see @nothing.txt, @./src/no and @src/a.pyy."
    assert opened.notices == [
        f"@{name} is no file here; it was sent as text." for name in ("nothing.txt", "./src/no", "src/a.pyy")
    ]


def reads_pdfs(opened: Open) -> None:
    info = ModelInfo(name="reader", reads_pdfs=True)
    opened.core.agent.provider = opened.provider = ScriptedProvider([text("seen")], info=info)


async def test_a_mentioned_pdf_goes_along_itself_where_the_model_reads_them(opened: Open) -> None:
    data = pdf("a page")
    (opened.project / "paper.pdf").write_bytes(data)
    reads_pdfs(opened)

    said = await opened.say("What does @paper.pdf say?")

    assert [block for block in said.content if isinstance(block, DocumentBlock)] == [
        DocumentBlock(data=base64.b64encode(data).decode(), title="paper.pdf")
    ]


async def test_a_mentioned_pdf_is_text_for_other_models_and_for_a_range(opened: Open) -> None:
    (opened.project / "paper.pdf").write_bytes(pdf("a page", "another"))

    said = await opened.say("What does @paper.pdf say?")
    reads_pdfs(opened)
    of_range = await opened.say("And @paper.pdf#1-2 ?")

    for message, words in ((said, "another"), (of_range, "a page")):
        assert not any(isinstance(block, DocumentBlock) for block in message.content)
        assert any(words in block.text for block in message.content if isinstance(block, TextBlock))


async def test_a_pdf_that_a_rule_would_ask_about_is_not_attached(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "outside.pdf").write_bytes(pdf("secret"))
    reads_pdfs(opened)

    said = await opened.say(f"Look at @{tmp_path / 'outside.pdf'}")

    assert not any(isinstance(block, DocumentBlock) for block in said.content)
    assert any("reading it needs your approval" in notice for notice in opened.notices)


async def test_a_mention_in_a_message_typed_meanwhile_is_attached(opened: Open) -> None:
    opened.provider._replies = iter([calls(use("read", {"file_path": "src/a.py"})), text("done")])
    opened.core.steer("and @long.txt#5")

    await opened.core.run_turn("begin")

    last = opened.provider.requests[1].messages[-1]
    assert isinstance(last, UserMessage)
    assert any("line 5" in said for said in texts(last))


async def test_an_image_goes_to_the_model_as_an_image(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(png())

    name = await opened.core.keep_image(str(tmp_path / "shot.png"))
    message = await opened.say(f"what is on @{name} ?")

    assert name == "img:1.png"
    images = [block for block in message.content if isinstance(block, ImageBlock)]
    label = f"PNG, 2x1 pixels, {len(png())} bytes, @img:1.png"
    assert images == [ImageBlock(media_type="image/png", data=base64.b64encode(png()).decode(), label=label)]


async def test_a_model_without_eyes_is_said_to_have_none(opened: Open, tmp_path: Path) -> None:
    opened.core.agent.provider = opened.provider = ScriptedProvider([text("no")])
    (tmp_path / "shot.png").write_bytes(png())

    name = await opened.core.keep_image(str(tmp_path / "shot.png"))
    await opened.say(f"look at @{name}")

    assert any("cannot see images" in notice for notice in opened.notices)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"hello", "no image that a model can see"),
        (png() + b"\0" * LIMIT_BYTES, "larger than"),
        (png(9000, 1), "9000x1 pixels"),
    ],
)
def test_what_no_model_takes_is_refused_with_a_sentence(tmp_path: Path, data: bytes, why: str) -> None:
    file = tmp_path / "x.png"
    file.write_bytes(data)

    with pytest.raises(AgentTuiError, match=why):
        KeptImages(lambda: tmp_path / "kept").keep_file(file)
    assert not (tmp_path / "kept").exists()


def test_kept_images_are_private_and_numbered(tmp_path: Path) -> None:
    images = KeptImages(lambda: tmp_path)

    assert [images.keep(png()), images.keep(png(3, 3))] == ["1.png", "2.png"]
    assert stat.S_IMODE((tmp_path / "images" / "1.png").stat().st_mode) == 0o600
    with pytest.raises(AgentTuiError, match=r"no image '\.\./x'"):
        images.load("../x")


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


async def test_the_clipboard_is_read_by_whichever_program_fits(tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(png())
    program(tmp_path / "bin", "xclip", f'case "$*" in *image/png*) cat {picture};; *) exit 1;; esac')

    def find(name: str) -> Path | None:
        file = tmp_path / "bin" / name
        return file if file.exists() else None

    assert await Clipboard(find, {"DISPLAY": ":0"}).image() == png()
    with pytest.raises(AgentTuiError, match="No program here"):
        await Clipboard(find, {}).image()
    program(tmp_path / "bin", "xclip", "echo Error: target not available >&2; exit 1")
    with pytest.raises(AgentTuiError, match="holds no image"):
        await Clipboard(find, {"DISPLAY": ":0"}).image()
    program(tmp_path / "bin", "wl-paste", f"cat {picture}")
    assert await Clipboard(find, {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}).image() == png()

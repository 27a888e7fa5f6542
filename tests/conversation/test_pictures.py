import base64
import stat
from pathlib import Path

import pytest

from agent_tui.conversation.images import KeptImages
from agent_tui.conversation.pictures import open_images
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.messages import ImageBlock, TextBlock, UserMessage
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome, ToolResult
from agent_tui.sessions.store import Session, SessionStore
from tests.support.small_png import png


def block(data: bytes, media_type: str = "image/png") -> ImageBlock:
    return ImageBlock(media_type=media_type, data=base64.b64encode(data).decode(), label="PNG, a label")


async def recorded(tmp_path: Path, *images: ImageBlock) -> Session:
    session = SessionStore(tmp_path / "sessions").create(tmp_path, session_id="s-1")
    words = UserMessage(content=(*images, TextBlock(text="What is this?")))
    await session.user_message(words, turn_id="t", text="What is this?")
    outcome = ToolCallOutcome(
        tool_use_id="c1",
        tool_name="read",
        call=ToolCall(call_id="c1", name="read"),
        result=ToolResult(output="Image a.png", images=images),
        display=DisplayResult(content="Image a.png", images=tuple(image.shown for image in images)),
        elapsed_s=0.1,
        effect="ran",
    )
    await session.outcome(outcome, turn_id="t")
    return session


def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, code: int = 0) -> Path:
    """A desktop whose program notes what it is asked to open."""
    programs, notes = tmp_path / "bin", tmp_path / "opened"
    programs.mkdir()
    for name in ("xdg-open", "open"):
        (programs / name).write_text(f'#!/bin/sh\necho "$@" >> {notes}\nexit {code}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":9")
    return notes


@pytest.mark.parametrize("asked", [("c1", ""), ("", "What is this?")])
async def test_the_image_of_a_call_or_a_prompt_opens_in_the_desktops_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, str]
) -> None:
    notes, project = desktop(tmp_path, monkeypatch), tmp_path / "project"
    large = png(200, 200)
    session = await recorded(tmp_path, block(large, "application/x-sh"))

    said = [await open_images(session, *asked, outside=project) for _ in range(2)]

    (opened,) = {Path(line) for line in notes.read_text().splitlines()}
    assert said == ["", ""]
    assert opened.read_bytes() == large
    assert opened.suffix == ".png"
    assert stat.S_IMODE(opened.stat().st_mode) == 0o600
    assert [b.images for b in session.replay()] == [("PNG, a label",), ("PNG, a label",)]
    session.close()


async def test_what_cannot_be_opened_is_said_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop(tmp_path, monkeypatch, code=3)
    session = await recorded(tmp_path, block(png()))

    failed = await open_images(session, "c1", "", outside=tmp_path / "project")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    without = await open_images(session, "c1", "", outside=tmp_path / "project")
    missing = await open_images(session, "c9", "", outside=tmp_path / "project")
    session.close()

    assert "could not open the image. The file is /" in failed
    assert without.startswith("No desktop program opens images here. The file is /")
    assert missing == "The session keeps no image of it that can be opened."


@pytest.mark.parametrize(
    "data", ["", "%%%", "AAA", base64.b64encode(b"#!/bin/sh\nrm -rf ~").decode(), "\ud800"]
)
def test_what_is_no_image_becomes_no_file(tmp_path: Path, data: str) -> None:
    kept = KeptImages(lambda: tmp_path)

    assert kept.files([{"type": "image", "media_type": "image/png", "data": data}, {"data": 7}, {}]) == []
    assert list(tmp_path.iterdir()) == []

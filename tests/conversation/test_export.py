from pathlib import Path
from typing import Any

import pytest

from agent_tui.conversation.past import SessionPast
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.sessions.store import SessionStore

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"></svg>'


class Opened:
    def __init__(self, record: Any) -> None:
        self.record, self.checkpoints, self.surroundings = record, None, None


@pytest.fixture
def past(workspace: Path, tmp_path: Path) -> SessionPast:
    store = SessionStore(tmp_path / "sessions")
    record = store.create(workspace, session_id="s-12345678")

    async def reload(_note: str) -> None: ...

    return SessionPast(
        workspace=workspace,
        store=store,
        opened=lambda: Opened(record),
        reload=reload,
    )


def converter(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/nowhere")


async def test_an_export_is_not_written_where_sessions_are_stored(past: SessionPast, tmp_path: Path) -> None:
    for kind, name in (("json", "p/s-12345678.jsonl"), ("md", "new.md")):
        with pytest.raises(AgentTuiError, match="is where sessions are stored; name another place"):
            await past.export(kind, str(tmp_path / "sessions" / name))

    assert not (tmp_path / "sessions/new.md").exists()


async def test_a_picture_is_written_privately_and_overwrites_only_a_name_that_was_given(
    past: SessionPast, workspace: Path
) -> None:
    said = await past.export_picture("svg", "", SVG)
    file = workspace / "screen-s-123456.svg"
    with pytest.raises(AgentTuiError, match="cannot be written"):
        await past.export_picture("svg", "", SVG)
    await past.export_picture("svg", file.name, SVG + "\n")

    assert said == f"Written to {file}"
    assert file.read_text() == SVG + "\n"
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_png_is_made_by_the_first_converter_that_can(
    past: SessionPast, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converter(tmp_path / "bin", "rsvg-convert", "exit 1", monkeypatch)
    converter(
        tmp_path / "bin", "resvg", 'printf "\\211PNG\\r\\n\\032\\n" > "$2"; echo made >> "$2"', monkeypatch
    )
    converter(tmp_path / "bin", "magick", 'echo wrong > "$2"', monkeypatch)

    await past.export_picture("png", "shot.png", SVG)

    assert (workspace / "shot.png").read_bytes() == b"\x89PNG\r\n\x1a\nmade\n"


@pytest.mark.parametrize(
    ("name", "words"), [("", "is installed"), ("convert", "convert could not convert it")]
)
async def test_without_a_converter_one_sentence_says_so(
    past: SessionPast, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    if name:
        converter(tmp_path / "bin", name, "exit 1", monkeypatch)

    with pytest.raises(AgentTuiError, match=words) as error:
        await past.export_picture("png", "shot.png", SVG)

    assert "/export svg" in str(error.value)
    assert "\n" not in str(error.value)
    assert not (workspace / "shot.png").exists()


async def test_a_converter_of_the_project_is_not_run(
    past: SessionPast, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converter(workspace / "bin", "resvg", 'touch "$0.ran"', monkeypatch)

    with pytest.raises(AgentTuiError, match="is installed"):
        await past.export_picture("png", "shot.png", SVG)

    assert not (workspace / "bin/resvg.ran").exists()

import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.errors import SessionError
from agent_tui.sessions.imports import records_from
from agent_tui.sessions.store import Session, SessionStore
from tests.support.agent_world import problems_of

USER = {"info": {"id": "msg_1", "role": "user", "time": {"created": 1}}}
REPLY = {"info": {"id": "msg_2", "role": "assistant", "modelID": "m", "time": {"created": 2}}}
WORDS = [
    {"id": "prt_1", "type": "text", "text": "fix it"},
    {"id": "prt_2", "type": "text", "text": "read by itself", "synthetic": True},
]
PARTS: list[dict[str, Any]] = [
    {"id": "prt_3", "type": "step-start"},
    {"id": "prt_4", "type": "reasoning", "text": "hm"},
    {"id": "prt_5", "type": "text", "text": "I look."},
    {
        "id": "prt_6",
        "type": "tool",
        "callID": "c1",
        "tool": "bash",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.txt\n"},
    },
    {
        "id": "prt_7",
        "type": "tool",
        "callID": "c2",
        "tool": "read",
        "state": {"status": "error", "input": {"filePath": "b"}, "error": "no such file"},
    },
    {"id": "prt_8", "type": "step-finish"},
    {"id": "prt_9", "type": "step-start"},
    {"id": "prt_a", "type": "text", "text": "One file."},
    {
        "id": "prt_b",
        "type": "tool",
        "callID": "c3",
        "tool": "bash",
        "state": {"status": "running", "input": {}},
    },
]


def exported(path: Path) -> Path:
    whole = {
        "info": {"id": "ses_1", "title": "Parser work"},
        "messages": [{**USER, "parts": WORDS}, {**REPLY, "parts": PARTS}],
    }
    path.write_text(json.dumps(whole, indent=2))
    return path


def stored(folder: Path) -> Path:
    session = folder / "storage/session/project/ses_1.json"
    files: dict[Path, Any] = {session: {"id": "ses_1", "title": "Parser work"}}
    for message, parts in ((USER, WORDS), (REPLY, PARTS)):
        name = message["info"]["id"]
        files[folder / f"storage/message/ses_1/{name}.json"] = message["info"]
        files |= {folder / f"storage/part/{name}/{part['id']}.json": part for part in parts}
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    (folder / "storage/part/msg_2/prt_z.json").write_text("{torn")
    return session


@pytest.fixture
def opened(tmp_path: Path, workspace: Path) -> Any:
    store = SessionStore(tmp_path / "sessions")

    def take(path: Path) -> Session:
        records, name = records_from(path)
        return store.open(store.write_whole(workspace, records, name=name))

    return take


@pytest.mark.parametrize("make", [lambda path: exported(path / "export.json"), stored])
def test_a_session_of_opencode_is_imported(opened: Any, tmp_path: Path, make: Any) -> None:
    session = opened(make(tmp_path))

    blocks = [(block.kind, block.text.strip(), block.state) for block in session.replay()]
    assert session.name == "Parser work"
    assert blocks == [
        ("user", "fix it", "done"),
        ("thinking", "hm", "done"),
        ("assistant", "I look.", "done"),
        ("tool", "a.txt", "done"),
        ("tool", "no such file", "error"),
        ("assistant", "One file.", "done"),
        ("tool", "The call did not end.", "error"),
    ]
    assert problems_of(session.messages(), provider="imported", model="m") == []


@pytest.mark.parametrize(("parts", "interrupted"), [(PARTS[:3], False), (PARTS, True)])
def test_an_imported_session_was_interrupted_only_where_its_last_reply_asked_for_more(
    opened: Any, tmp_path: Path, parts: list[dict[str, Any]], interrupted: bool
) -> None:
    path = tmp_path / "export.json"
    messages = [{**USER, "parts": WORDS}, {**REPLY, "parts": parts}]
    path.write_text(json.dumps({"info": {"id": "ses_1", "title": ""}, "messages": messages}))

    assert opened(path).restored().interrupted is interrupted


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"id": "../../etc"}',
        '{"id": "ses_9", "title": "no messages"}',
        '{"info": {}, "messages": [{"info": {"role": "system"}, "parts": 3}]}',
        '{"messages": 7}',
    ],
)
def test_what_only_looks_like_one_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a/b/c/x.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)

    with pytest.raises(SessionError, match="holds no session"):
        records_from(path)


def test_a_device_without_end_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tui.sessions.imports._MAX_BYTES", 400)

    with pytest.raises(SessionError, match="/dev/zero: holds more than 400 bytes: too large to import"):
        records_from(Path("/dev/zero"))


def test_a_file_that_cannot_be_read_is_told_without_errno(tmp_path: Path) -> None:
    with pytest.raises(SessionError) as raised:
        records_from(tmp_path / "nofile")

    assert str(raised.value) == f"{tmp_path}/nofile: cannot be read: No such file or directory"

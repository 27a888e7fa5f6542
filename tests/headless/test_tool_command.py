import json
from pathlib import Path

import pytest

from agent_tui.headless import tool_command
from agent_tui.headless.tool_command import parse_batch, read_batch
from agent_tui.protocol.data import without_half_pairs
from agent_tui.protocol.errors import UsageError


@pytest.mark.parametrize("half", [r"\ud800", r"\uDC00", r"\ud83d\ud83d"])
def test_half_a_surrogate_pair_in_a_batch_line_is_replaced(half: str) -> None:
    (call,) = parse_batch('{"name": "read", "input": {"file_path": "a' + half + 'b"}}')

    path = json.loads(call.arguments_json)["file_path"]

    assert set(path) == {"a", "b", "\ufffd"}


@pytest.mark.parametrize("text", [r'"\ud83c\udf88"', r'"\\ud800"', r'"\\\\ud800 \n"', '"plain"', r'"\u00e4"'])
def test_whole_pairs_and_escaped_backslashes_stay(text: str) -> None:
    assert without_half_pairs(text) == text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"name": "read"}\n[]\n', "line 2: is no object; expected"),
        (b'{"name": 5}', "line 1: name: a text is expected; expected"),
        (b'{"nam": "read"}', "line 1: name: is missing; expected"),
        (b'{"name": "read"', "line 1: is not valid JSON: "),
        (b"\xff\n", "calls.jsonl' is not UTF-8"),
        (b"x" * 300, "line 1: has more than 200 characters"),
        (
            b"x" * 150 + b"\n" + b"x" * 300,
            "calls.jsonl: holds more than 400 bytes; make several batches of it",
        ),
    ],
)
def test_a_batch_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, said: str
) -> None:
    monkeypatch.setattr(tool_command, "MAX_BATCH_BYTES", 400)
    monkeypatch.setattr(tool_command, "MAX_LINE_CHARS", 200)
    file = tmp_path / "calls.jsonl"
    file.write_bytes(data)

    with pytest.raises(UsageError) as caught:
        read_batch(str(file))

    assert said in str(caught.value)


def test_a_device_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_command, "MAX_BATCH_BYTES", 400)

    with pytest.raises(UsageError, match="/dev/zero: holds more than 400 bytes"):
        read_batch("/dev/zero")


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)

    with pytest.raises(UsageError, match="--batch -: there is no standard input"):
        read_batch("-")


def test_a_line_ends_at_a_newline_only() -> None:
    calls = parse_batch('{"name": "read", "input": {"file_path": "a\u2028b"}}\r\n\n{"name": "list"}\n')

    assert [(call.call_id, call.name) for call in calls] == [("line1", "read"), ("line3", "list")]

import json

import pytest

from agent_tui.headless.tool_command import parse_batch
from agent_tui.protocol.data import without_half_pairs


@pytest.mark.parametrize("half", [r"\ud800", r"\uDC00", r"\ud83d\ud83d"])
def test_half_a_surrogate_pair_in_a_batch_line_is_replaced(half: str) -> None:
    (call,) = parse_batch('{"name": "read", "input": {"file_path": "a' + half + 'b"}}')

    path = json.loads(call.arguments_json)["file_path"]

    assert set(path) == {"a", "b", "\ufffd"}


@pytest.mark.parametrize("text", [r'"\ud83c\udf88"', r'"\\ud800"', r'"\\\\ud800 \n"', '"plain"', r'"\u00e4"'])
def test_whole_pairs_and_escaped_backslashes_stay(text: str) -> None:
    assert without_half_pairs(text) == text

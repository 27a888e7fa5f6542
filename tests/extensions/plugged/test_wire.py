import pytest

from agent_tui.extensions.plugged.wire import Notify, Ready, RegisterTool, Result, read_message, written


def test_x15_messages_are_lines_of_json_and_fields_that_are_not_known_are_skipped() -> None:
    assert read_message(b'{"type": "ready", "colour": "green", "flags": [1]}') == Ready(type="ready")
    assert read_message(b'{"type": "result", "id": 3, "content": "x", "more": {}}') == Result(
        type="result", id=3, content="x"
    )
    tool = read_message(
        b'{"type": "register_tool", "name": "t", "description": "T.", "schema": {"type": "object"}}'
    )
    assert isinstance(tool, RegisterTool)
    assert tool.parameters == {"type": "object"}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"hello",
        b'{"type": "nothing"}',
        b'{"type": "result"}',
        b'{"type": "result", "id": "x"}',
        b"\xff{",
    ],
)
def test_what_is_no_message_raises_a_value_error_only(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_message(line)


def test_half_characters_do_not_hurt_in_either_direction() -> None:
    said = read_message(b'{"type": "notify", "text": "a\\ud800b"}')

    assert said == Notify(type="notify", text="a\ufffdb")
    assert written({"type": "x", "text": "line\nbreak \ud800"}).count(b"\n") == 1

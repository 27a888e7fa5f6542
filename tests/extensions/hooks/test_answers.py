import json
from typing import Any

import pytest

from agent_tui.extensions.hooks.answers import read_answer
from agent_tui.extensions.hooks.events import (
    CONTEXT_LIMIT_BYTES,
    EventName,
    HookAnswer,
    HookEvent,
    HookFailed,
    checked,
    cut_context,
)
from tests.support.hook_world import tool_event


def read(answer: Any, event: HookEvent | None = None) -> HookAnswer:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return read_answer(event or tool_event(), 0, text.encode(), b"")


def test_x31_exit_2_blocks_with_what_stands_on_standard_error() -> None:
    assert read_answer(tool_event(), 2, b"ignored", b"not on Fridays\n") == HookAnswer(
        decision="deny", reason="not on Fridays"
    )
    assert read_answer(tool_event(), 2, b"", b"").reason == "it gave no reason"


@pytest.mark.parametrize(
    ("code", "words"), [(1, "exit code 1: boom"), (127, "exit code 127"), (-9, "signal 9")]
)
def test_any_other_exit_code_is_a_failure(code: int, words: str) -> None:
    with pytest.raises(HookFailed, match=words):
        read_answer(tool_event(), code, b'{"decision": "allow"}', b"boom\nmore")


def test_x13_a_json_answer_allows_denies_asks_rewrites_and_adds() -> None:
    assert read({"decision": "allow", "reason": "fine"}) == HookAnswer(decision="allow", reason="fine")
    assert read({"decision": "deny"}).reason == "it gave no reason"
    assert read({"decision": "ask", "reason": "odd"}).decision == "ask"
    rewritten = read({"arguments": {"command": "ls -l"}, "context": "be brief"})
    assert (rewritten.arguments, rewritten.context) == ({"command": "ls -l"}, "be brief")
    assert read("") == HookAnswer()


def test_answers_written_for_other_agents_are_understood() -> None:
    inner = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "odd",
        "updatedInput": {"command": "ls"},
        "additionalContext": "more",
    }
    assert read({"hookSpecificOutput": inner, "suppressOutput": True}) == HookAnswer(
        decision="ask", reason="odd", arguments={"command": "ls"}, context="more"
    )
    assert read({"decision": "block", "reason": "no"}) == HookAnswer(decision="deny", reason="no")
    assert read({"continue": False, "stopReason": "enough"}) == HookAnswer(decision="deny", reason="enough")
    after = read({"continue": False, "stopReason": "enough"}, tool_event("post_tool"))
    assert (after.decision, after.stop) == ("", "enough")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"decison": "deny"}, "decison"),
        ({"decision": "maybe"}, "'maybe'"),
        ({"arguments": ["ls"]}, "arguments"),
        ("{", "not valid JSON"),
        ("[" * 5, "not a JSON object"),
        ('{"a":' * 100_000, "not valid JSON|too deeply"),
        ("looks fine", "not a JSON object: 'looks fine'"),
    ],
)
def test_an_answer_that_is_not_understood_is_a_failure(answer: Any, words: str) -> None:
    with pytest.raises(HookFailed, match=words):
        read(answer)


@pytest.mark.parametrize("name", ["session_start", "user_prompt"])
def test_plain_words_are_context_where_nothing_else_is_expected(name: str) -> None:
    assert read("It is Friday.\n", HookEvent(EventName(name), {})) == HookAnswer(context="It is Friday.")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("session_start", HookAnswer(decision="deny")),
        ("session_end", HookAnswer(context="x")),
        ("user_prompt", HookAnswer(decision="allow")),
        ("pre_tool", HookAnswer(output="x")),
        ("pre_tool", HookAnswer(stop="x")),
        ("approval", HookAnswer(arguments={})),
        ("approval", HookAnswer(decision="ask")),
        ("post_tool", HookAnswer(arguments={})),
        ("stop", HookAnswer(context="x")),
        ("compaction", HookAnswer(decision="ask")),
        ("notification", HookAnswer(context="x")),
    ],
)
def test_what_an_event_does_not_take_makes_the_answer_unusable(name: str, answer: HookAnswer) -> None:
    with pytest.raises(HookFailed, match="does not take"):
        checked(HookEvent(EventName(name), {}), answer)


def test_x14_added_context_is_at_most_4_kib_cut_between_characters() -> None:
    assert cut_context("é" * 2048) == "é" * 2048
    cut = cut_context("é" * 2049)
    assert len(cut.encode()) <= CONTEXT_LIMIT_BYTES == 4096
    assert cut.startswith("é" * 2000)
    assert cut.endswith("[cut at 4 KiB]")
    assert "\ufffd" not in cut
    assert checked(tool_event(), HookAnswer(context="é" * 5000)).context == cut_context("é" * 5000)

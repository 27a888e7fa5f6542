import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.history import INTERRUPTED, RepairedHistory, repair, without_attachments
from agent_tui.protocol.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from tests.support.agent_world import problems_of

GOOD = base64.b64encode(b"picture").decode()
texts = st.sampled_from(["", "  \n", "hello", "<system-note>x</system-note>"])
ids = st.sampled_from(["a", "b", "c", "", "a.b", "a-2", "x" * 80])
images = st.builds(
    ImageBlock,
    media_type=st.sampled_from(["image/png", "image/tiff", ""]),
    data=st.sampled_from([GOOD, "", "not base64!", "QUJ"]),
)
user_blocks = st.one_of(
    st.builds(TextBlock, text=texts),
    images,
    st.builds(DocumentBlock, data=st.sampled_from([GOOD, ""])),
    st.builds(
        ToolResultBlock, tool_use_id=ids, content=texts, is_error=st.booleans(), images=st.tuples(images)
    ),
)
assistant_blocks = st.one_of(
    st.builds(TextBlock, text=texts),
    st.builds(ThinkingBlock, text=texts, signature=st.sampled_from(["", "sig"])),
    st.builds(RedactedThinkingBlock, data=st.sampled_from(["", "xx"])),
    st.builds(
        ToolUseBlock,
        id=ids,
        name=st.sampled_from(["read", "", "functions.read", "bash"]),
        arguments_json=st.sampled_from(["{}", "", "{", "[]", "null", '{"a": 1}', '"x"']),
    ),
)
messages = st.lists(
    st.one_of(
        st.builds(UserMessage, content=st.lists(user_blocks, max_size=4).map(tuple)),
        st.builds(
            AssistantMessage,
            content=st.lists(assistant_blocks, max_size=4).map(tuple),
            provider=st.sampled_from(["anthropic", "openai"]),
            model=st.sampled_from(["m", "n"]),
        ),
    ),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(messages)
def test_whatever_the_history_a_strict_server_accepts_the_repaired_one(
    history: list[UserMessage | AssistantMessage],
) -> None:
    repaired = repair(history, "anthropic", "m")

    assert problems_of(repaired, provider="anthropic", model="m") == []
    assert repair(repaired, "anthropic", "m") == repaired


@settings(max_examples=200, deadline=None)
@given(messages)
def test_a_conversation_that_grows_is_repaired_as_if_it_came_whole(
    history: list[UserMessage | AssistantMessage],
) -> None:
    growing = RepairedHistory("anthropic", "m")

    for count in range(len(history) + 1):
        assert growing.of(history[:count]) == repair(history[:count], "anthropic", "m")


@settings(max_examples=100, deadline=None)
@given(messages)
def test_without_attachments_nothing_but_text_and_calls_is_left(
    history: list[UserMessage | AssistantMessage],
) -> None:
    repaired = repair(without_attachments(history), "anthropic", "m")

    kinds = {block.type for message in repaired for block in message.content}
    assert kinds <= {"text", "tool_use", "tool_result"}
    assert problems_of(repaired, provider="anthropic", model="m") == []


def test_a_good_history_is_left_alone_object_by_object() -> None:
    history = [
        UserMessage(content=(TextBlock(text="hi"),)),
        AssistantMessage(
            content=(
                ThinkingBlock(text="", signature="s"),
                ToolUseBlock(id="a", name="read", arguments_json="{}"),
            ),
            provider="p",
            model="m",
        ),
        UserMessage(content=(ToolResultBlock(tool_use_id="a", content="x"),)),
    ]

    assert [id(message) for message in repair(history, "p", "m")] == [id(message) for message in history]


def test_item_01_calls_without_a_result_are_answered_and_results_without_a_call_go() -> None:
    history = [
        UserMessage(content=(TextBlock(text="hi"),)),
        AssistantMessage(content=(ToolUseBlock(id="a", name="read"), ToolUseBlock(id="b", name="read"))),
        UserMessage(
            content=(
                TextBlock(text="meanwhile"),
                ToolResultBlock(tool_use_id="b", content="B"),
                ToolResultBlock(tool_use_id="z", content="Z"),
            )
        ),
    ]

    last = repair(history, "p", "m")[-1]

    assert last.content == (
        ToolResultBlock(tool_use_id="a", content=INTERRUPTED, is_error=True),
        ToolResultBlock(tool_use_id="b", content="B"),
        TextBlock(text="meanwhile"),
    )


def test_pr_09_arguments_that_are_no_object_become_an_empty_one() -> None:
    for raw in ("", "{", "null", "[]", '"x"', '{"path":"a"}}'):
        history = [
            UserMessage(content=(TextBlock(text="hi"),)),
            AssistantMessage(content=(ToolUseBlock(id="a", name="write", arguments_json=raw),)),
        ]

        assert repair(history, "p", "m")[1].content[0].arguments_json == "{}"


def test_pr_15_repeated_ids_are_told_apart_with_their_results() -> None:
    turn = [
        UserMessage(content=(TextBlock(text="hi"),)),
        AssistantMessage(content=(ToolUseBlock(id="call_0", name="read"),)),
        UserMessage(content=(ToolResultBlock(tool_use_id="call_0", content="first"),)),
        AssistantMessage(content=(ToolUseBlock(id="call_0", name="read"),)),
        UserMessage(content=(ToolResultBlock(tool_use_id="call_0", content="second"),)),
    ]

    repaired = repair(turn, "p", "m")

    assert [repaired[2].content[0].content, repaired[4].content[0].content] == ["first", "second"]
    assert problems_of(repaired) == []

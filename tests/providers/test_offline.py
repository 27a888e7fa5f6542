import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_tui.executor.answers import denied
from agent_tui.headless.approver import REFUSAL
from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.permissions import Verdict
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.base import Completed, ProviderRequest, TextPiece, ThinkingPiece
from agent_tui.providers.offline import OfflineProvider

TOOLS = tuple(
    ToolSpec(name=name, description="d", input_schema={"type": "object"})
    for name in (
        "read",
        "write",
        "edit",
        "bash",
        "glob",
        "grep",
        "list",
        "webfetch",
        "websearch",
        "todowrite",
        "todoread",
    )
)
Message = UserMessage | AssistantMessage
Tools = Callable[[str, Mapping[str, object]], ToolResultBlock]


def said(message: AssistantMessage) -> str:
    return "".join(block.text for block in message.content if isinstance(block, TextBlock))


def asked(message: AssistantMessage) -> list[tuple[str, Any]]:
    return [
        (block.name, json.loads(block.arguments_json))
        for block in message.content
        if isinstance(block, ToolUseBlock)
    ]


def user(*texts: str) -> UserMessage:
    return UserMessage(content=tuple(TextBlock(text=text) for text in texts))


async def ask(messages: list[Message], tools: tuple[ToolSpec, ...] = TOOLS) -> AssistantMessage:
    request = ProviderRequest(system="s", messages=tuple(messages), tools=tools)
    async with OfflineProvider().stream(request) as deltas:
        received = [delta async for delta in deltas]
    completed = received[-1]
    assert isinstance(completed, Completed)
    pieces = "".join(piece.text for piece in received if isinstance(piece, TextPiece))
    assert pieces == said(completed.message)
    return completed.message


async def converse(prompt: str, answers: list[list[tuple[bool, str]]]) -> list[AssistantMessage]:
    """Play a turn; `answers` holds per round and call whether it went well and its output."""
    messages: list[Message] = [user("<environment>cwd: /p</environment>", prompt)]
    replies: list[AssistantMessage] = []
    for results in [*answers, []]:
        reply = await ask(messages)
        replies.append(reply)
        uses = [block for block in reply.content if isinstance(block, ToolUseBlock)]
        messages.append(reply)
        messages.append(
            UserMessage(
                content=tuple(
                    ToolResultBlock(tool_use_id=use.id, content=text, is_error=not ok)
                    for use, (ok, text) in zip(uses, results, strict=True)
                )
            )
        )
    return replies


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [
        ("find TODO", [("grep", {"pattern": "TODO", "literal": True})]),
        ("Find 'def main' in src", [("grep", {"pattern": "def main", "literal": True, "path": "src"})]),
        ("find files *.py", [("glob", {"pattern": "**/*.py"})]),
        ("read pyproject.toml", [("read", {"file_path": "pyproject.toml"})]),
        ("read a.py lines 3-7", [("read", {"file_path": "a.py", "offset": 3, "limit": 5})]),
        ("please show README.md", [("read", {"file_path": "README.md"})]),
        ("list src", [("list", {"path": "src", "depth": 2})]),
        ("list @src/", [("list", {"path": "src/", "depth": 2})]),
        ("read @a.py", [("read", {"file_path": "a.py"})]),
        ('read @"my notes.txt"', [("read", {"file_path": "my notes.txt"})]),
        ("find TODO in @src", [("grep", {"pattern": "TODO", "literal": True, "path": "src"})]),
        ("ls", [("list", {"path": ".", "depth": 2})]),
        ("replace foo with bar in a.py", [("read", {"file_path": "a.py"})]),
        ("create b.txt with hello", [("write", {"file_path": "b.txt", "content": "hello\n"})]),
        (
            "fetch https://example.com/x",
            [("webfetch", {"url": "https://example.com/x", "format": "markdown"})],
        ),
        ("search the web for textual", [("websearch", {"query": "textual"})]),
        ("show todos", [("todoread", {})]),
        ("explain this project", [("list", {"path": ".", "depth": 2})]),
        ("run the tests", [("list", {"path": ".", "depth": 1})]),
    ],
)
async def test_a_plain_request_becomes_its_calls(prompt: str, calls: list[tuple[str, object]]) -> None:
    assert asked(await ask([user(prompt)])) == calls


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("run pytest -q", "pytest -q"),
        ("$ ls -la | wc -l", "ls -la | wc -l"),
        ("git status", "git status"),
        ("run `echo hi`", "echo hi"),
        ("delete my file.txt", None),
        ("delete 'my file.txt'", "rm -- 'my file.txt'"),
    ],
)
async def test_a_command_is_run_word_for_word(prompt: str, command: str | None) -> None:
    calls = asked(await ask([user(prompt)]))

    assert [arguments["command"] for _, arguments in calls] == ([command] if command else [])


async def test_unknown_text_gets_an_honest_answer_with_examples() -> None:
    reply = await ask([user("write me a poem about rain")])

    assert "do not understand language" in said(reply)
    assert "find TODO" in said(reply)
    assert reply.stop_reason == "end_turn"


@pytest.mark.parametrize("prompt", ["help", "nonsense", "", "summarize"])
async def test_every_answer_says_what_it_is_and_how_to_connect_a_model(prompt: str) -> None:
    text = said(await ask([user(prompt)] if prompt else []))

    assert "not a language model" in text
    assert all(
        hint in text for hint in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "--base-url")
    )


async def test_a_replace_reads_first_and_edits_in_the_next_round() -> None:
    first, second, third = await converse(
        'replace "old name" with "new name" in src/a.py',
        [[(True, "     1\told name")], [(True, "replaced 1 occurrence\n     1\tnew name")]],
    )

    assert asked(first) == [("read", {"file_path": "src/a.py"})]
    assert asked(second) == [
        ("edit", {"file_path": "src/a.py", "old_string": "old name", "new_string": "new name"})
    ]
    assert "replaced 1 occurrence" in said(third)


async def test_a_denied_edit_is_reported_in_the_persons_words() -> None:
    *_, final = await converse(
        "replace a with b in x.txt", [[(True, "     1\ta")], [(False, "denied by the person: not this file")]]
    )

    assert "did not work out" in said(final)
    assert "not this file" in said(final)


async def test_a_failed_read_stops_the_replace() -> None:
    _, final = await converse("replace a with b in x.txt", [[(False, "no such file: x.txt")]])

    assert asked(final) == []
    assert "no such file: x.txt" in said(final)


async def test_explaining_a_project_reports_what_the_files_say() -> None:
    first, second, third = await converse(
        "explain this project",
        [
            [(True, "- /p/\n  - src/\n    - Makefile\n  - README.md\n  - pyproject.toml")],
            [
                (True, "     1\t# Frobnicator\n     2\t\n     3\tTurns frobs into nics."),
                (True, '     1\t[project]\n     2\tname = "frob"\n     3\tdescription = "A frob tool"'),
            ],
        ],
    )

    assert asked(first) == [("list", {"path": ".", "depth": 2})]
    assert asked(second) == [("read", {"file_path": "README.md"}), ("read", {"file_path": "pyproject.toml"})]
    assert "Turns frobs into nics." in said(third)
    assert "A frob tool" in said(third)
    assert "src/" in said(third)


async def test_an_empty_project_is_not_made_up() -> None:
    _, final = await converse("explain this project", [[(True, "(empty folder)")]])

    assert asked(final) == []
    assert "found no README" in said(final)


@pytest.mark.parametrize(
    "listed", ["tests/\npyproject.toml", "shop.py\ntest_shop.py", "shop.py\nshop_test.py"]
)
async def test_the_tests_of_a_project_are_found_by_its_files(listed: str) -> None:
    _, second, third = await converse("run the tests", [[(True, listed)], [(True, "3 passed")]])

    assert asked(second)[0][1]["command"] == "python3 -m pytest -q"
    assert "3 passed" in said(third)


async def test_the_tour_asks_for_six_things_in_one_round() -> None:
    first, second, final = await converse(
        "tour",
        [
            [(True, "created")] * 4 + [(False, "denied: private")] + [(True, "exit code 0")],
            [(True, "edited"), (True, "1 match")],
        ],
    )

    assert [name for name, _ in asked(first)] == ["write", "write", "bash", "bash", "read", "bash"]
    assert [name for name, _ in asked(second)] == ["edit", "grep"]
    assert asked(second)[0][1]["file_path"] == asked(first)[0][1]["file_path"]
    assert "denied: private" in said(final)
    assert said(final).count("not done -") == 1
    assert "did not stop its neighbours" in said(final)


async def test_the_line_that_a_tour_quotes_of_a_listing_names_a_file(tmp_path: Path) -> None:
    first, *_ = await converse("tour", [[(True, "")] * 6, [(True, "")] * 2])
    calls = [arguments for _, arguments in asked(first)]
    file = tmp_path / calls[0]["file_path"]
    file.parent.mkdir()
    file.touch()

    command = ["bash", "-c", calls[2]["command"]]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert listed.stdout.split("\n")[0] == file.name


async def test_a_tour_that_was_denied_claims_nothing() -> None:
    _, final = await converse("tour", [[(False, "denied")] * 6])

    assert said(final).count("not done -") == 6
    assert "neighbours" not in said(final)
    assert "rm -r .agent-tour`" not in said(final)
    assert "nothing to edit" in said(final)


async def test_a_tour_repeats_what_the_person_said_with_a_denial() -> None:
    plain = denied(Verdict(call_id="c"), [])
    with_words = denied(Verdict(call_id="c", feedback="not yet"), [])

    _, final = await converse("tour", [[(False, plain), (False, with_words), *[(False, plain)] * 4]])

    assert said(final).count("denied by you") == 6
    assert "denied by you, with the words `not yet`" in said(final)
    assert "Do not try the same call again" not in said(final)


@pytest.mark.parametrize(
    "answer",
    [
        denied(Verdict(call_id="c"), []),
        denied(Verdict(call_id="c", unasked=True, feedback=REFUSAL), []),
        denied(None, []),
        "Blocked by a hook: not here",
    ],
)
async def test_a_denied_command_was_not_allowed_rather_than_tried(answer: str) -> None:
    _, final = await converse("run rm x", [[(False, answer)]])

    assert "was not allowed" in said(final)
    assert "did not work out" not in said(final)


async def test_a_later_tour_takes_other_names() -> None:
    request = ProviderRequest(system="", messages=(user("tour"),), tools=TOOLS)
    names: list[object] = []
    for now in (0.0, 1.0):
        async with OfflineProvider(clock=lambda now=now: now).stream(request) as deltas:
            last = [delta async for delta in deltas][-1]
        assert isinstance(last, Completed)
        names.append(asked(last.message)[0][1]["file_path"])

    assert names[0] != names[1]


async def test_a_raw_script_plays_its_rounds_word_for_word() -> None:
    script = 'call read {"file_path": "a"}\ncall nosuch {broken\n\nsay Second.\ncall bash {"command": "ls"}'
    first, second, third = await converse(
        script, [[(True, "     1\tx"), (False, "unknown tool")], [(True, "exit code 0")]]
    )

    uses = [b for b in first.content if isinstance(b, ToolUseBlock)]
    assert [(use.name, use.arguments_json) for use in uses] == [
        ("read", '{"file_path": "a"}'),
        ("nosuch", "{broken"),
    ]
    assert said(second) == "Second."
    assert "3 calls in 2 rounds" in said(third)


async def test_one_of_a_thing_is_counted_as_one() -> None:
    done = await converse('call read {"file_path": "a.py"}', [[(True, "one line")]])
    assert "1 call in 1 round." in said(done[-1])
    read = await converse("read a.py", [[(True, "only")]])
    assert "gave 1 line:" in said(read[-1])


async def test_a_broken_script_runs_nothing() -> None:
    reply = await ask([user("call read {}\nand then something")])

    assert asked(reply) == []
    assert "Line 2" in said(reply)


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    reply = await ask([user("run ls")], tools=TOOLS[:1])

    assert asked(reply) == []
    assert "`bash`" in said(reply)


async def test_it_thinks_aloud_and_streams_in_small_pieces() -> None:
    request = ProviderRequest(system="", messages=(user("find TODO"),), tools=TOOLS)
    async with OfflineProvider().stream(request) as deltas:
        received = [delta async for delta in deltas]

    assert sum(isinstance(delta, ThinkingPiece) for delta in received) > 5
    completed = received[-1]
    assert isinstance(completed, Completed)
    assert isinstance(completed.message.content[0], ThinkingBlock)


async def test_call_ids_differ_between_rounds_and_repeat_for_the_same_history() -> None:
    messages: list[Message] = [user("find TODO")]
    once, again = await ask(messages), await ask(messages)
    later = await ask([*messages, once, user("find TODO")])

    ids = [[b.id for b in m.content if isinstance(b, ToolUseBlock)] for m in (once, again, later)]
    assert ids[0] == ids[1]
    assert ids[0] != ids[2]


async def test_a_message_that_steers_is_the_new_prompt() -> None:
    first = await ask([user("find TODO")])
    use = next(b for b in first.content if isinstance(b, ToolUseBlock))
    steered = UserMessage(
        content=(ToolResultBlock(tool_use_id=use.id, content="a.py:1:TODO"), TextBlock(text="list src"))
    )

    reply = await ask([user("find TODO"), first, steered])

    assert asked(reply) == [("list", {"path": "src", "depth": 2})]


async def test_a_summary_tells_prompts_and_calls_of_the_history() -> None:
    first = await ask([user("find TODO")])
    use = next(b for b in first.content if isinstance(b, ToolUseBlock))
    result = UserMessage(content=(ToolResultBlock(tool_use_id=use.id, content="nothing"),))

    text = said(await ask([user("find TODO"), first, result, user("summarize")]))

    assert "asked: `find TODO`" in text
    assert "grep `TODO`" in text


@pytest.mark.parametrize("words", ["continue", "Go on.", "please continue"])
async def test_continue_does_a_request_that_was_cut_again(words: str) -> None:
    first = await ask([user("run sleep 8")])
    call = next(block for block in first.content if isinstance(block, ToolUseBlock))
    lost = ToolResultBlock(tool_use_id=call.id, content="interrupted", is_error=True)
    messages: list[Message] = [user("run sleep 8"), first, UserMessage(content=(lost,)), user(words)]

    again = await ask(messages)
    use = next(block for block in again.content if isinstance(block, ToolUseBlock))
    done = ToolResultBlock(tool_use_id=use.id, content="[exit code: 0]")
    messages += [again, UserMessage(content=(done,))]
    answer = await ask(messages)
    over = await ask([*messages, answer, user("continue")])

    assert asked(again) == asked(first)
    assert "The work on `run sleep 8` was cut" in said(again)
    assert "exit code: 0" in said(answer)
    assert asked(over) == []
    assert "Nothing is open" in said(over)


async def test_continue_finds_a_prompt_that_got_no_reply_at_all() -> None:
    separate = await ask([user("read a.py"), user("continue"), user("continue")])
    merged = await ask([user("<environment>x</environment>", "read a.py", "continue")])

    assert asked(separate) == asked(merged) == asked(await ask([user("read a.py")]))


async def test_continue_at_the_start_says_that_nothing_is_open() -> None:
    assert "Nothing is open" in said(await ask([user("continue")]))

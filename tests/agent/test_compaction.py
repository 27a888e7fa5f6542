import asyncio

import pytest

from agent_tui.agent.compaction import CompactionSettings, fold_results, shrink_results, split, with_summary
from agent_tui.agent.compactor import MAX_FRUITLESS
from agent_tui.agent.tokens import context_shares, history_tokens
from agent_tui.protocol.errors import ContextTooLong, Overloaded, StreamCut
from agent_tui.protocol.events import Compacted, Notice
from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    TokenUsage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.providers.scripted import calls, text, use
from tests.support.agent_world import problems_of, world
from tests.support.patience import until


def user(words: str, *, pinned: bool = False) -> UserMessage:
    return UserMessage(content=(TextBlock(text=words),), pinned=pinned)


def said(words: str) -> AssistantMessage:
    return AssistantMessage(content=(TextBlock(text=words),))


def pair(
    call_id: str, output: str, *, name: str = "read", arguments: str = "{}"
) -> list[UserMessage | AssistantMessage]:
    return [
        AssistantMessage(content=(ToolUseBlock(id=call_id, name=name, arguments_json=arguments),)),
        UserMessage(content=(ToolResultBlock(tool_use_id=call_id, content=output),)),
    ]


def test_a53_compaction_is_due_strictly_above_the_ceiling_and_never_without_a_limit() -> None:
    settings = CompactionSettings(reserve_tokens=16_384)

    assert not settings.is_due(200_000 - 16_384, 200_000)
    assert settings.is_due(200_000 - 16_383, 200_000)
    assert not settings.is_due(10_000_000, 0)


def test_a54_the_reserve_never_takes_more_than_a_quarter_of_the_window() -> None:
    settings = CompactionSettings()

    assert settings.ceiling(8_000) == 6_000
    assert settings.kept(8_000) == 4_000
    with pytest.raises(ValueError, match="negative"):
        CompactionSettings(reserve_tokens=-1)


def test_a55_old_results_become_their_summaries_and_stay_without_one() -> None:
    history = [user("go"), *pair("a", "long " * 100), *pair("b", "long " * 100), *pair("c", "x")]

    folded = fold_results(history, {"a": "[Read: a.py]", "c": "[Read: something longer]"}, before=7)

    outputs = [b.content for m in folded for b in m.content if isinstance(b, ToolResultBlock)]
    assert outputs == ["[Read: a.py]", "long " * 100, "x"]


def test_a56_recent_messages_are_never_touched() -> None:
    history = [user("go"), *pair("a", "x" * 4000), *pair("b", "y" * 4000)]

    index = split(history, 1500)
    folded = fold_results(history, {"a": "[a]", "b": "[b]"}, before=index)

    assert index == 3
    assert folded[3:] == tuple(history[3:])
    assert split(history, 100_000) == 0


def test_m27_item_65_a_pair_is_never_split() -> None:
    history = [user("go")]
    for number in range(20):
        history += pair(f"c{number}", "x" * (100 * number + 1))

    for keep in range(0, 12_000, 37):
        index = split(history, keep)

        assert not any(isinstance(b, ToolResultBlock) for b in history[index].content)


def test_m26_skills_and_todos_survive_folding_and_the_summary() -> None:
    history = [
        UserMessage(content=(TextBlock(text="<environment>\nhere\n</environment>"), TextBlock(text="go"))),
        *pair("s", "how to deploy", name="skill", arguments='{"name": "deploy"}'),
        *pair("t", "ok", name="todowrite", arguments='{"todos": ["ship"]}'),
        *pair("r", "text", arguments='{"file_path": "a.py"}'),
        *pair("w", "done", name="edit", arguments='{"file_path": "b.py"}'),
        user("never forget this", pinned=True),
        said("ok"),
    ]

    once = with_summary(fold_results(history, {"s": "[skill]"}, before=11), "SUMMARY", before=11)
    twice = with_summary((*once, user("more"), said("x")), "SECOND", before=len(once) + 1)

    for new in (once, twice):
        whole = str(new[:2])
        for kept in ("here", "how to deploy", "ship", "a.py", "b.py", "never forget this"):
            assert kept in whole
    assert "SUMMARY" not in str(twice[0])


def test_pr_22_the_largest_results_are_cut_with_a_note() -> None:
    history = [user("go"), *pair("a", "x" * 40_000), *pair("b", "y" * 400_000)]

    small = shrink_results(history, target_tokens=20_000)

    assert history_tokens(small) <= 20_000
    assert "characters left out" in str(small)
    assert "x" * 40_000 in str(small)


async def test_item_65_folding_is_tried_before_a_summary_is_asked_for() -> None:
    script = [*(calls(use("read", {"n": n})) for n in range(4)), text("done")]
    w = world(*[reply.costing(TokenUsage()) for reply in script], context_tokens=40_000)
    w.rounds.answer = lambda _call: "x" * 40_000
    w.rounds.summary = "[Read: it]"

    result = await w.agent().run("go")

    assert result.stop_reason == "end_turn"
    assert len(w.provider.requests) == 5
    assert [e.summary for e in w.sink.of(Compacted)][:1] == [""]
    assert all(problems_of(r.messages) == [] for r in w.provider.requests)


async def test_a57_x30_a_summary_replaces_old_talk_and_cuts_results_to_500_characters() -> None:
    history = [user("the goal")]
    for number in range(10):
        history += [*pair(f"c{number}", "z" * 12_000), said("w" * 12_000), user(f"next {number}")]
    w = world(text("what happened"), text("done"), context_tokens=64_000)
    agent = w.agent(history=history)

    await agent.run("go on")

    request = w.provider.requests[0]
    assert request.max_output_tokens == 2048
    assert "z" * 500 in str(request.messages)
    assert "z" * 501 not in str(request.messages)
    assert "what happened" in str(w.provider.requests[1].messages[0])
    assert "next 9" in str(w.provider.requests[1].messages)
    assert w.sink.of(Compacted)[0].tokens_after < w.sink.of(Compacted)[0].tokens_before


@pytest.mark.parametrize(
    "answer", [text(""), Overloaded("busy"), text("half").cut(StreamCut("cut"), after=1), text("long").ending("max_tokens")]
)  # fmt: skip
async def test_pr_21_a_summary_that_fails_leaves_the_history_as_it_was(answer: object) -> None:
    history = [user("goal"), *[said("w" * 40_000), user("more")] * 3]
    w = world(answer, text("still works"), context_tokens=200_000)
    agent = w.agent(history=history)

    report = await agent.compact()
    after = await agent.run("hello")

    assert report.messages is None
    assert report.problem
    assert agent.history[: len(history)] == tuple(history)
    assert after.stop_reason == "end_turn"


async def test_pr_21_escape_during_compaction_leaves_the_history_as_it_was() -> None:
    gate = asyncio.Event()
    history = [user("goal"), *[said("w" * 40_000), user("more")] * 3]
    w = world(text("x").held(gate), text("ok"))
    agent = w.agent(history=history)

    async with asyncio.TaskGroup() as group:
        compaction = group.create_task(agent.compact())
        await until(lambda: len(w.provider.requests) == 1)
        agent.cancel()

    assert compaction.result().problem.startswith("Stopped")
    assert agent.history == tuple(history)
    assert (await agent.run("hi")).stop_reason == "end_turn"


async def test_pr_21_auto_false_is_respected_also_after_an_overflow() -> None:
    history = [user("goal"), *[said("w" * 400_000), user("more")] * 2]
    w = world(ContextTooLong("too long"))
    agent = w.agent(history=history, compaction=CompactionSettings(auto=False))

    result = await agent.run("go")

    assert (result.stop_reason, result.error) == ("failed", "too long")
    assert agent.history[: len(history)] == tuple(history)


async def test_a58_compact_by_hand_takes_a_focus_or_an_edited_summary() -> None:
    history = [user("goal"), *[said("w" * 40_000), user("more")] * 3]
    w = world(text("focused summary"))
    agent = w.agent(history=history)

    report = await agent.compact("the parser")
    agent.history = history
    edited = await agent.compact(summary="my own words")

    assert "the parser" in str(w.provider.requests[0].messages)
    assert report.summary == "focused summary"
    assert "my own words" in str(agent.history[0])
    assert edited.tokens_after < edited.tokens_before


async def test_compaction_that_gains_nothing_is_not_tried_for_ever() -> None:
    w = world(*[text("fine").costing(TokenUsage()) for _ in range(8)], context_tokens=16_000)
    agent = w.agent(system="s" * 60_000)

    for _ in range(4):
        await agent.run("go")

    assert len(w.provider.requests) <= 4 + MAX_FRUITLESS
    assert any("largest part" in e.text for e in w.sink.of(Notice))


def test_h76_the_context_table_adds_up() -> None:
    history = [user("<environment>e"), *pair("a", "x" * 400)]

    shares = {
        s.category: s.tokens
        for s in context_shares(
            system="s" * 40, tools=(), messages=history, environment="<environment>e", limit_tokens=1000
        )
    }

    assert shares["tool results"] == 100
    assert shares["system prompt"] == 10
    assert sum(shares.values()) == 1000


async def test_a58_a_draft_replaces_nothing_and_counts_what_it_used() -> None:
    w = world(text("reply " * 200), text("Goal: petals."))
    agent = w.agent()
    await agent.run("word " * 400)
    before, used = agent.history, agent.usage

    drafted = await agent.draft_summary("petals")

    assert drafted.text == "Goal: petals."
    assert agent.history == before
    assert agent.usage != used
    assert "special attention to: petals" in w.provider.requests[1].messages[0].content[0].text


async def test_a58_a_short_conversation_is_compacted_by_hand_too() -> None:
    w = world(text("first reply " * 100), text("second"))
    agent = w.agent()
    await agent.run("word " * 400)
    await agent.run("next")

    report = await agent.compact(summary="Goal: petals.")

    assert report.tokens_after < report.tokens_before / 2
    assert "Goal: petals." in agent.history[0].content[-1].text


async def test_what_is_pinned_survives_every_compaction() -> None:
    w = world(text("one " * 200), text("two " * 200), text("three " * 200))
    agent = w.agent()
    await agent.run("word " * 400)
    await agent.pin("The person wants tabs.")
    await agent.run("word " * 400)
    await agent.compact(summary="First.")
    await agent.run("word " * 400)
    await agent.compact(summary="Second.")

    pinned = [m for m in agent.history if isinstance(m, UserMessage) and m.pinned]
    assert len(pinned) == 1
    assert "wants tabs" in str(w.provider.requests[-1].messages)

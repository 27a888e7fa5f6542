import asyncio

import pytest

from agent_tui.agent.limits import Limits
from agent_tui.agent.loop import Agent
from agent_tui.agent.queue import MessageQueue
from agent_tui.protocol.errors import (
    AuthError,
    BadResponse,
    ContextTooLong,
    Overloaded,
    ProviderError,
    StreamCut,
)
from agent_tui.protocol.events import (
    Retrying,
    TextDelta,
    TurnStarted,
    Usage,
)
from agent_tui.protocol.messages import (
    ImageBlock,
    TokenUsage,
)
from agent_tui.providers.base import ModelInfo
from agent_tui.providers.retry import RetryingProvider
from agent_tui.providers.scripted import Reply, calls, text, thinking, use
from tests.support.agent_world import World, problems_of, shown_text, world
from tests.support.patience import until

PNG = "iVBORw0KGgoAAAANSUhEUg=="


async def test_steering_reaches_the_model_with_the_results_and_follow_ups_wait() -> None:
    queue = MessageQueue()
    w = world(calls(use("read")), text("ok"))
    w.rounds.answer = lambda call: (queue.steer("use tabs"), queue.follow_up("then test"), "done")[2]

    await w.agent(queue=queue).run("go")

    last = w.provider.requests[1].messages[-1]
    assert [getattr(b, "text", "") for b in last.content] == ["", "use tabs"]
    assert [i.text for i in queue.waiting()] == ["then test"]
    assert [e.prompt for e in w.sink.of(TurnStarted)] == ["go", "use tabs"]


async def test_steering_at_the_end_of_a_turn_makes_it_go_on() -> None:
    queue = MessageQueue()
    gate = asyncio.Event()
    w = world(text("finished").held(gate, after=1), text("tabs it is"))
    agent = w.agent(queue=queue)

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        await w.sink.until(TextDelta)
        queue.steer("use tabs")
        gate.set()

    assert len(w.provider.requests) == 2
    assert turn.result().stop_reason == "end_turn"


async def test_a_message_is_taken_back_by_its_place() -> None:
    queue = MessageQueue()
    queue.steer("a")
    queue.follow_up("b")

    assert [queue.remove(1), queue.remove(0), queue.remove(0)] == ["b", "a", None]


async def test_a_budget_in_usd_pauses_and_may_be_raised() -> None:
    info = ModelInfo(name="m", input_usd_per_mtok=1.0, output_usd_per_mtok=0.0)
    dear = TokenUsage(input_tokens=1_000_000)
    asked: list[str] = []

    async def ask(why: str) -> bool:
        asked.append(why)
        return len(asked) == 1

    w = world(*[calls(use("read", {"n": n})).costing(dear) for n in range(9)], info=info)
    result = await w.agent(limits=Limits(max_budget_usd=2.0), ask_continue=ask).run("go")

    assert result.stop_reason == "budget"
    assert len(w.provider.requests) == 4
    assert result.cost_usd == pytest.approx(4.0)
    assert asked[0] == "$2.00 of $2.00 are spent."


async def test_a_budget_without_a_known_price_is_refused() -> None:
    result = await world(text("x")).agent(limits=Limits(max_budget_usd=1.0)).run("go")

    assert result.stop_reason == "failed"
    assert "price" in result.error


async def test_max_tokens_of_the_session_end_the_turn() -> None:
    w = world(*[calls(use("read", {"n": n})) for n in range(9)])

    result = await w.agent(limits=Limits(max_tokens=30)).run("go")

    assert result.stop_reason == "budget"
    assert len(w.provider.requests) == 2


async def test_a_prompt_that_the_server_refuses_does_not_poison_the_session() -> None:
    w = world(BadResponse("bad request", status=400), text("fine"))
    agent = w.agent()

    first = await agent.run("poison")
    second = await agent.run("hello")

    assert (first.stop_reason, second.stop_reason) == ("failed", "end_turn")
    assert "poison" not in str(w.provider.requests[1].messages)


async def test_a_refused_image_is_left_out_and_the_turn_goes_on() -> None:
    w = world(BadResponse("image too large", status=400), text("I cannot see it"), text("ok"))
    agent = w.agent()

    result = await agent.run("look", images=[ImageBlock(media_type="image/png", data=PNG)])
    await agent.run("next")

    assert result.stop_reason == "end_turn"
    assert PNG not in str(w.provider.requests[1].messages)
    assert PNG not in str(w.provider.requests[2].messages)


async def test_an_error_of_the_model_keeps_the_prompt_for_a_continue() -> None:
    w = world(AuthError("no key"), text("hello"))
    agent = w.agent()

    await agent.run("important task")
    await agent.run("continue")

    assert "important task" in str(w.provider.requests[1].messages)
    assert problems_of(w.provider.requests[1].messages) == []


async def test_h75_item_66_overflow_compacts_once_retries_once_and_then_reports() -> None:
    big = "x" * 400_000
    w = world(
        calls(use("read")),
        ContextTooLong("too long"),
        text("made it"),
    )
    w.rounds.answer = lambda _call: big
    agent = w.agent()

    result = await agent.run("go")

    assert result.stop_reason == "end_turn"
    assert len(str(w.provider.requests[-1].messages)) < 200_000


async def test_item_66_a_second_overflow_in_the_same_turn_is_reported() -> None:
    w = world(calls(use("read")), ContextTooLong("too long"), ContextTooLong("still too long"))
    w.rounds.answer = lambda _call: "x" * 400_000

    result = await w.agent().run("go")

    assert (result.stop_reason, result.error) == ("failed", "still too long")


async def test_pr_06_thinking_goes_back_byte_for_byte_before_its_call() -> None:
    w = world(thinking("", signature="sig1") + calls(use("read")), text("ok"), name="anthropic", model="m")

    await w.agent().run("go")

    blocks = w.provider.requests[1].messages[1].content
    assert [(b.type, getattr(b, "signature", "")) for b in blocks] == [("thinking", "sig1"), ("tool_use", "")]


async def test_pr_07_thinking_of_another_model_is_left_out_and_its_pairs_stay() -> None:
    w = world(thinking("hm", signature="a") + calls(use("read")), text("ok"), model="model-a")
    agent = w.agent()
    await agent.run("one")
    other = world(text("two"), model="model-b")
    agent.provider = other.provider

    await agent.run("two")
    agent.provider = w.provider

    sent = other.provider.requests[0].messages
    assert problems_of(sent, provider="scripted", model="model-b") == []
    assert "hm" not in str(sent)


async def test_the_environment_stands_once_in_the_first_message() -> None:
    w = world(text("a"), text("b"))
    agent = w.agent(environment="<environment>\ncwd: /x\n</environment>")

    await agent.run("one")
    await agent.run("two")

    assert str(w.provider.requests[1].messages).count("cwd: /x") == 1
    assert w.provider.requests[0].messages[0] == w.provider.requests[1].messages[0]
    assert w.provider.requests[0].system == w.provider.requests[1].system


async def test_a_second_turn_is_refused_while_one_runs() -> None:
    gate = asyncio.Event()
    w = world(text("x").held(gate))
    agent = w.agent()

    async with asyncio.TaskGroup() as group:
        group.create_task(agent.run("one"))
        await until(lambda: agent.running)
        with pytest.raises(Exception, match="running already"):
            await agent.run("two")
        gate.set()


async def asked_aside(w: World, agent: Agent, gate: asyncio.Event) -> str:
    """Ask while a turn works on, and let it end."""
    async with asyncio.TaskGroup() as group:
        group.create_task(agent.run("work"))
        await until(lambda: "working" in shown_text(w.sink))
        answer = await agent.aside("which number?")
        gate.set()
    return answer


async def test_an_aside_sees_the_conversation_and_leaves_no_trace() -> None:
    gate = asyncio.Event()
    w = world(text("first"), text("working").held(gate, after=1), text("it is 42"))
    agent = w.agent()
    await agent.run("remember 42")

    answer = await asked_aside(w, agent, gate)

    assert answer == "it is 42"
    assert "remember 42" in str(w.provider.requests[2].messages)
    assert problems_of(w.provider.requests[2].messages) == []
    assert "which number" not in str(agent.history)
    assert agent.usage.output_tokens == 15


async def test_retries_of_an_aside_are_not_told_as_those_of_the_turn() -> None:
    gate = asyncio.Event()
    w = world(text("working").held(gate, after=1), Overloaded("busy"), text("it is 42"))

    async def no_sleep(_seconds: float) -> None:
        return None

    agent = w.agent(provider=RetryingProvider(w.provider, sleep=no_sleep))

    answer = await asked_aside(w, agent, gate)

    assert answer == "it is 42"
    assert w.sink.of(Retrying) == []


async def test_reminders_stand_with_the_prompt_and_never_in_the_system_prompt() -> None:
    said = [["Plan mode is on."], []]
    w = world(text("a"), text("b"))
    agent = w.agent(reminders=lambda: said.pop(0))

    await agent.run("one")
    await agent.run("two")

    first, second = (r.messages[-1].content for r in w.provider.requests)
    assert [b.text for b in first] == ["<system-note>Plan mode is on.</system-note>", "one"]
    assert [b.text for b in second] == ["two"]
    assert w.provider.requests[0].system == w.provider.requests[1].system


async def test_two_turns_share_their_prefix_byte_for_byte() -> None:
    w = world(calls(use("read")), text("a"), calls(use("bash")), text("b"))
    agent = w.agent(environment="<environment>e</environment>")
    await agent.run("one")
    await agent.run("two")

    for earlier, later in zip(w.provider.requests, w.provider.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.system, later.tools) == (earlier.system, earlier.tools)


@pytest.mark.parametrize("how", ["cut", "cancelled", "failed"])
async def test_item_68_tokens_of_a_reply_that_never_came_whole_are_counted(how: str) -> None:
    gate = asyncio.Event()
    used = TokenUsage(input_tokens=90, cache_read_tokens=7, output_tokens=1)
    whole = TokenUsage(input_tokens=100, output_tokens=5)
    first = text("half of it, and more").counting(used)
    script: list[Reply | ProviderError] = {
        "cut": [first.cut(StreamCut("gone"), after=1), text("the rest").costing(whole)],
        "cancelled": [first.held(gate, after=1)],
        "failed": [first.cut(AuthError("no"), after=1)],
    }[how]
    w = world(*script, piece_chars=8)
    agent = w.agent()

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        if how == "cancelled":
            await until(lambda: shown_text(w.sink))
            agent.cancel()

    expected = used + whole if how == "cut" else used
    assert turn.result().usage == agent.usage == expected
    assert sum((event.usage for event in w.sink.of(Usage)), TokenUsage()) == expected


async def test_item_68_an_attempt_that_failed_unseen_is_counted_too() -> None:
    used, whole = TokenUsage(input_tokens=90), TokenUsage(input_tokens=100, output_tokens=5)
    w = world(
        calls(use("read")).counting(used).cut(StreamCut("gone"), after=0),
        text("whole").counting(used).costing(whole),
    )

    async def no_sleep(_seconds: float) -> None:
        return None

    result = await w.agent(provider=RetryingProvider(w.provider, sleep=no_sleep)).run("go")

    assert result.usage == used + whole

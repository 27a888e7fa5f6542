import pytest

from agent_tui.agent.guardrails import GuardrailChain, GuardrailHooks, Judgement, OpenGuardrail
from agent_tui.agent.respond import RESPOND
from agent_tui.protocol.events import Notice, RoundStarted, ToolDenied
from agent_tui.protocol.messages import AssistantMessage
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.providers.base import ProviderRequest
from agent_tui.providers.scripted import calls, text, use
from agent_tui.toolkit.testing import make_context
from tests.support.agent_world import problems_of, result_texts, world

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CALL = ToolCall(call_id="c", name="bash")


async def test_h70_the_answer_follows_the_schema_and_is_in_the_result() -> None:
    w = world(calls(use("read")), calls(use(RESPOND, {"n": 3})))

    result = await w.agent(schema=SCHEMA).run("count")

    assert (result.structured, result.stop_reason) == ({"n": 3}, "end_turn")
    assert [spec.name for spec in w.provider.requests[0].tools][-1] == RESPOND


async def test_h71_item_64_it_is_never_run_nor_shown_and_siblings_do_not_run() -> None:
    w = world(calls(use("bash"), use(RESPOND, {"n": 3})), text("next"))
    agent = w.agent(schema=SCHEMA)

    await agent.run("count")

    assert w.rounds.ran == []
    assert w.sink.of(RoundStarted) == []
    assert w.sink.of(ToolDenied) == []
    assert "ends the turn" in result_texts(agent.history[-1])[0]


async def test_h71_an_invalid_answer_is_told_and_tried_again_at_most_three_times() -> None:
    wrong = calls(use(RESPOND, {"n": "three"}))
    w = world(wrong, calls(use(RESPOND, "{")), calls(use(RESPOND, {"n": 1})))

    result = await w.agent(schema=SCHEMA).run("count")

    assert result.structured == {"n": 1}
    assert "n: 'three' is not of type 'integer'" in result_texts(w.provider.requests[1].messages[-1])[0]
    assert "not valid JSON" in result_texts(w.provider.requests[2].messages[-1])[0]
    assert all(problems_of(r.messages) == [] for r in w.provider.requests)

    failing = world(*[wrong] * 9)
    failed = await failing.agent(schema=SCHEMA).run("count")
    assert (failed.stop_reason, failed.structured, len(failing.provider.requests)) == ("failed", None, 4)


async def test_item_64_text_alone_is_not_accepted() -> None:
    w = world(text("it is three"), calls(use(RESPOND, {"n": 3})))

    result = await w.agent(schema=SCHEMA).run("count")

    assert result.structured == {"n": 3}
    assert RESPOND in str(w.provider.requests[1].messages[-1])


class Strict(OpenGuardrail):
    def __init__(self, **answers: Judgement) -> None:
        self.answers = answers
        self.seen: list[str] = []

    async def pre_llm(self, request: ProviderRequest) -> Judgement:
        return self._say("pre_llm")

    async def post_llm(self, message: AssistantMessage) -> Judgement:
        return self._say("post_llm")

    async def pre_tool(self, call: ToolCall) -> Judgement:
        return self._say("pre_tool")

    async def post_tool(self, call: ToolCall, result: ToolResult) -> ToolResult | Judgement:
        return self.answers.get("post_tool") or ToolResult.success(result.output.replace("secret", "***"))

    def _say(self, place: str) -> Judgement:
        self.seen.append(place)
        return self.answers.get(place, Judgement())


class Broken(OpenGuardrail):
    async def pre_tool(self, call: ToolCall) -> Judgement:
        raise RuntimeError("oops")


async def test_h72_a_denied_request_is_not_sent() -> None:
    w = world(text("never"))

    result = await w.agent(guardrails=[Strict(pre_llm=Judgement("deny", "too personal"))]).run("go")

    assert (result.stop_reason, result.error) == ("failed", "Stopped by a guardrail: too personal")
    assert w.provider.requests == []


async def test_h72_a_denied_reply_is_not_recorded_and_nothing_of_it_runs() -> None:
    w = world(calls(use("bash")))
    agent = w.agent(guardrails=[Strict(post_llm=Judgement("deny", "no"))])

    result = await agent.run("go")

    assert result.stop_reason == "failed"
    assert w.rounds.ran == []
    assert result.usage.output_tokens == 5


async def test_h72_a_warning_is_shown_and_work_goes_on() -> None:
    w = world(text("ok"))

    result = await w.agent(guardrails=[Strict(post_llm=Judgement("warn", "careful"))]).run("go")

    assert result.stop_reason == "end_turn"
    assert [e.text for e in w.sink.of(Notice)] == ["careful"]


async def test_h72_the_first_denial_wins_and_one_that_fails_denies() -> None:
    late = Strict()
    chain = GuardrailChain([Strict(pre_tool=Judgement("warn", "w")), Broken(), late])

    judgement = await chain.pre_tool(CALL)

    assert (judgement.action, judgement.reason) == ("deny", "Broken failed: oops")
    assert late.seen == []


async def test_h73_tool_guardrails_work_as_hooks_of_a_round(tmp_path: pytest.TempPathFactory) -> None:
    ctx = make_context(tmp_path)
    hooks = GuardrailHooks(GuardrailChain([Strict(pre_tool=Judgement("warn", "hm"))]))
    denying = GuardrailHooks(
        GuardrailChain([Strict(pre_tool=Judgement("deny", "no"), post_tool=Judgement("deny", "leak"))])
    )

    assert (await hooks.before(CALL, ctx)).context == "Warning: hm"
    assert (await denying.before(CALL, ctx)).block == "no"
    assert (await hooks.after(CALL, ToolResult.success("a secret"), ctx)).output == "a ***"
    blocked = await denying.after(CALL, ToolResult.success("x"), ctx)
    assert (blocked.is_error, blocked.output) == (True, "Blocked by a guardrail: leak")

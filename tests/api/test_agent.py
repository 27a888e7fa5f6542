import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

import agent_tui
from agent_tui import (
    Agent,
    AgentTuiError,
    Decision,
    Event,
    PermissionDecision,
    PermissionRequest,
    Question,
    ToolFinished,
    TurnFinished,
    Verdict,
    api,
)
from agent_tui.agent.limits import MAX_ROUNDS
from agent_tui.protocol.messages import StopReason
from agent_tui.protocol.tools import TurnResult
from tests.support.fake_servers import MessagesServer, Tool, message
from tests.support.mcp_world import SCRIPTS

WRITE = "create new.txt with hello"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_TEST_PACE", "0")


def offline(workspace: Path, **more: Any) -> Agent:
    return Agent(workspace, provider="offline", **more)


async def test_without_an_approver_what_would_be_asked_is_denied(workspace: Path) -> None:
    async with offline(workspace) as agent:
        result = await agent.run(WRITE)

    assert result.ok
    assert result.denied == 1
    assert not (workspace / "new.txt").exists()


async def test_a_function_decides_call_by_call_and_events_are_awaited(workspace: Path) -> None:
    asked: list[PermissionRequest] = []
    events: list[Event] = []

    def decide(request: PermissionRequest) -> bool:
        asked.append(request)
        return "new" in request.title

    async def listen(event: Event) -> None:
        await asyncio.sleep(0)
        events.append(event)

    calls = [
        f"call write {json.dumps({'file_path': f'{name}.txt', 'content': 'x'})}" for name in ("new", "old")
    ]
    async with offline(workspace, approver=decide, on_event=listen) as agent:
        result = await agent.run("\n".join(calls))

    assert [request.title for request in asked] == ["new.txt", "old.txt"]
    assert [path.name for path in workspace.glob("*.txt")] == ["new.txt"]
    assert [event.tool for event in events if isinstance(event, ToolFinished)] == ["write"]
    assert isinstance(events[-1], TurnFinished)
    assert "The script is done" in result.text


async def test_an_async_function_may_answer_with_a_verdict(workspace: Path) -> None:
    async def decide(request: PermissionRequest) -> Verdict:
        allowed = tuple(
            PermissionDecision(permission_id=one.id, decision=Decision.ALLOW) for one in request.permissions
        )
        edited = {"file_path": "new.txt", "content": "edited"}
        return Verdict(call_id=request.call_id, permissions=allowed, edited_arguments=edited)

    async with offline(workspace, approver=decide) as agent:
        await agent.run(WRITE)

    assert (workspace / "new.txt").read_text() == "edited"


async def test_an_approver_that_is_an_object_gets_the_round_together(workspace: Path) -> None:
    class Rounds:
        def __init__(self) -> None:
            self.sizes: list[int] = []

        async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
            self.sizes.append(len(requests))
            return {}

    rounds = Rounds()
    calls = [f"call write {json.dumps({'file_path': f'{name}.txt', 'content': 'x'})}" for name in "ab"]
    async with offline(workspace, approver=rounds) as agent:
        await agent.run("\n".join(calls))

    assert rounds.sizes == [2]
    assert not list(workspace.glob("*.txt"))


@pytest.mark.parametrize("answer", [None, 1, "yes"])
async def test_only_true_allows(workspace: Path, answer: Any) -> None:
    async with offline(workspace, approver=lambda _request: answer) as agent:
        await agent.run(WRITE)

    assert not (workspace / "new.txt").exists()


async def test_an_approver_that_raises_is_a_no_and_the_turn_goes_on(workspace: Path) -> None:
    def broken(_request: PermissionRequest) -> bool:
        raise RuntimeError("no idea")

    async with offline(workspace, approver=broken) as agent:
        result = await agent.run(WRITE)

    assert result.ok
    assert not (workspace / "new.txt").exists()


async def test_the_mode_counts_and_may_be_set(workspace: Path) -> None:
    async with offline(workspace, mode="plan") as agent:
        assert agent.mode == "plan"
        await agent.run(WRITE)
        assert not (workspace / "new.txt").exists()
        agent.mode = "accept-edits"
        await agent.run(WRITE)

    assert (workspace / "new.txt").exists()


async def test_cancel_ends_the_running_prompt(workspace: Path) -> None:
    begun = asyncio.Event()

    def listen(event: Event) -> None:
        if event.type == "tool_started":
            begun.set()

    async with offline(workspace, approver=lambda _request: True, on_event=listen) as agent:
        running = asyncio.create_task(agent.run("run sleep 300"))
        async with asyncio.timeout(60):
            await begun.wait()
            agent.cancel()
            result = await running

    assert result.stop_reason == "cancelled"
    assert not result.ok


async def test_a_session_is_kept_and_resumed_unless_it_is_not_persistent(workspace: Path) -> None:
    async with offline(workspace, name="mine") as agent:
        await agent.run("hello")
        first = agent.session_id
    async with offline(workspace, resume="mine") as again:
        assert again.session_id == first
        assert len(again._opened.agent.history) == 2
    async with offline(workspace, persistent=False) as forgotten:
        await forgotten.run("hello")
    async with offline(workspace, continue_last=True) as last:
        assert last.session_id == first


async def test_a_schema_gives_a_structured_answer(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with MessagesServer([message(tools=[Tool("t1", "__respond__", json.dumps({"n": 7}))])]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        async with Agent(workspace, base_url=server.url, provider="anthropic", schema=schema) as agent:
            result = await agent.run("how many?")

    assert result.structured == {"n": 7}


async def test_a_failing_model_is_in_the_result_and_a_missing_key_is_raised(workspace: Path) -> None:
    with pytest.raises(AgentTuiError, match="ANTHROPIC_API_KEY"):
        async with Agent(workspace, provider="anthropic"):
            pass
    with pytest.raises(AgentTuiError, match="cannot work in"):
        async with offline(workspace / "missing"):
            pass
    with pytest.raises(AgentTuiError, match="is not open"):
        await offline(workspace).run("hello")


async def test_questions_reach_the_function_that_answers_them(workspace: Path) -> None:
    seen: list[Question] = []

    async def ask(questions: Sequence[Question]) -> list[list[str]]:
        seen.extend(questions)
        return [["blue"] for _ in questions]

    question = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "blue"}, {"label": "red"}],
    }
    async with offline(workspace, ask=ask) as agent:
        assert "question" in agent.tools
        result = await agent.run(f"call question {json.dumps({'questions': [question]})}")
    async with offline(workspace) as without:
        assert "question" not in without.tools

    assert [one.question for one in seen] == ["Which colour?"]
    assert "blue" in str(result.messages)


async def test_servers_and_rules_may_be_given(workspace: Path) -> None:
    tiny = {"command": sys.executable, "args": ["-S", str(SCRIPTS / "tiny.py"), "good"]}
    servers = [{"mcpServers": {"tiny": tiny}}]
    async with offline(workspace, mcp_servers=servers, allowed_tools=["mcp__tiny__echo"]) as agent:
        result = await agent.run('call mcp__tiny__echo {"text": "hi"}')

    assert "echo: hi" in str(result.messages)


async def test_limits_end_a_prompt_and_say_so(workspace: Path) -> None:
    async with offline(workspace, max_rounds=1) as agent:
        result = await agent.run('call glob {"pattern": "*"}\n---\ncall glob {"pattern": "*"}')

    assert result.stop_reason == "round_limit"
    assert not result.ok


@pytest.mark.parametrize("reason", get_args(StopReason))
def test_only_a_turn_that_the_model_ended_is_ok(reason: Any) -> None:
    result = api._result(TurnResult(stop_reason=reason))

    assert result.ok == (reason in ("end_turn", "stop_sequence"))


async def test_notices_may_be_read_more_than_once(workspace: Path) -> None:
    (workspace / ".agent-tui").mkdir()
    (workspace / ".agent-tui" / "config.toml").write_text('[ui]\ntheme = "nord"\n')
    (workspace / "AGENTS.md").write_text("@../outside.md\n")
    (workspace.parent / "outside.md").write_text("x")
    heard: list[str] = []

    def listen(event: Event) -> None:
        heard.extend([event.text] if event.type == "notice" else [])

    async with offline(workspace, on_event=listen) as agent:
        assert "trust" in str(agent.notices)
        await agent.run("hello")
        first, second = agent.notices, agent.notices

    assert first == second
    assert "it leads out of" in str(first)
    assert "it leads out of" in str(heard)


async def test_what_run_and_mode_raise(workspace: Path) -> None:
    agent = offline(workspace)
    with pytest.raises(AgentTuiError, match="not open"):
        await agent.run("hello")

    begun = asyncio.Event()
    async with offline(
        workspace, approver=lambda _request: True, on_event=lambda _event: begun.set()
    ) as agent:
        running = asyncio.create_task(agent.run("run sleep 300"))
        async with asyncio.timeout(60):
            await begun.wait()
            with pytest.raises(AgentTuiError, match="running already"):
                await agent.run("another")
            agent.cancel()
            await running
        with pytest.raises(ValueError, match="not a valid"):
            setattr(agent, "mode", "everything")  # noqa: B010 - a program that no type checker has seen


async def test_no_limit_is_zero_and_a_wrong_one_is_told(workspace: Path) -> None:
    async with offline(workspace, max_rounds=0, max_tokens=0, max_budget_usd=0) as agent:
        assert agent._opened.agent.limits.max_rounds == 0
        assert (await agent.run("hello")).ok
    async with offline(workspace, max_rounds=-1) as agent:
        assert agent._opened.agent.limits.max_rounds == MAX_ROUNDS
        assert "max_rounds" in str(agent.notices)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import agent_tui; print(*(set(sys.modules) - before))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["agent_tui"]


def test_looking_for_a_submodule_does_not_load_the_agent() -> None:
    code = "import sys; from agent_tui import cli; print('agent_tui.api' in sys.modules, 'pydantic' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]


def test_public_names_are_those_of_the_api() -> None:
    assert set(dir(agent_tui)) == {"__version__", *api.__all__}
    assert all(hasattr(agent_tui, name) for name in api.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        agent_tui.Nonsense  # noqa: B018 - asking for it is the test


async def test_a_picture_reaches_the_model(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with MessagesServer([message("A pixel.")]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        image = agent_tui.ImageBlock(media_type="image/png", data="AAAA")
        async with Agent(workspace, base_url=server.url, provider="anthropic") as agent:
            result = await agent.run("what is this?", images=[image])
        [request] = server.requests

    assert result.text == "A pixel."
    assert "AAAA" in json.dumps(request.json)

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import EnvVariable, McpServerStdio

from tests.e2e.conftest import Place
from tests.support.acp_editor import editor
from tests.support.fake_servers import message
from tests.support.mcp_world import SCRIPTS

OFFLINE = ("--provider", "offline")
TINY = McpServerStdio(
    name="tiny", command=sys.executable, args=["-S", str(SCRIPTS / "tiny.py"), "good"], env=[]
)
ECHO = f"call mcp__tiny__echo {json.dumps({'text': 'from the editor'})}"


async def test_a_loaded_session_is_told_again_and_goes_on(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.say(session_id, "create new.txt with hello")

    async with editor(place.env(), *OFFLINE) as two:
        loaded = await two.agent.load_session(cwd=str(place.project), session_id=session_id, mcp_servers=[])
        told = list(two.updates)
        await two.say(session_id, "read new.txt")

    assert loaded.modes is not None
    kinds = [update.session_update for _, update in told]
    assert kinds == [
        "user_message_chunk",
        "agent_thought_chunk",
        "agent_message_chunk",
        "tool_call",
        "agent_message_chunk",
        "available_commands_update",
    ]
    assert told[0][1].content.text == "create new.txt with hello"
    call = told[3][1]
    assert (call.tool_call_id, call.status) == (one.told("tool_call")[0].tool_call_id, "completed")
    assert "hello" in two.text()


async def test_a_session_that_is_open_here_can_be_loaded_again(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.say(session_id, "hello")
        await one.agent.load_session(cwd=str(place.project), session_id=session_id, mcp_servers=[])

        assert [u.content.text for u in one.told("user_message_chunk")] == ["hello"]
        assert (await one.say(session_id, "hello")).stop_reason == "end_turn"


async def test_a_session_that_is_not_there_or_open_elsewhere_cannot_be_loaded(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one, editor(place.env(), *OFFLINE) as two:
        session_id = await one.open(place.project)
        await one.say(session_id, "hello")
        with pytest.raises(RequestError, match="nowhere") as missing:
            await two.agent.load_session(cwd=str(place.project), session_id="nowhere", mcp_servers=[])
        with pytest.raises(RequestError, match="another program") as held:
            await two.agent.load_session(cwd=str(place.project), session_id=session_id, mcp_servers=[])

    assert (missing.value.code, held.value.code) == (-32002, -32603)


async def test_stored_sessions_are_listed_by_folder(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with editor(place.env(), *OFFLINE) as one:
        here, there = await one.open(place.project), await one.open(other)
        await one.say(here, "hello")
        await one.say(there, "help")
        listed = await one.agent.list_sessions(cwd=str(place.project))
        everything = await one.agent.list_sessions()

    assert [(s.session_id, s.cwd, s.title) for s in listed.sessions] == [(here, str(place.project), "hello")]
    assert {s.session_id for s in everything.sessions} == {here, there}


async def test_servers_of_the_editor_give_tools_from_the_first_prompt_on(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project, mcp_servers=[TINY])
        await one.say(session_id, ECHO)
        without = await one.open(place.project)
        await one.say(without, ECHO)

    [(asked_in, call, _)] = one.asked
    assert asked_in == session_id
    assert call.kind == "other"
    assert "echo: from the editor" in str(one.told("tool_call_update", session_id)[-1].raw_output)
    assert one.told("tool_call_update", without)[-1].status == "failed"


async def test_a_broken_server_is_named_and_costs_only_itself(place: Place) -> None:
    broken = McpServerStdio(
        name="broken", command="/no/such/program", args=[], env=[EnvVariable(name="A", value="b")]
    )
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project, mcp_servers=[broken, TINY])
        await one.say(session_id, ECHO)
        with pytest.raises(RequestError, match="Two MCP servers are called 'tiny'"):
            await one.open(place.project, mcp_servers=[TINY, TINY])

    assert "broken" in one.text()
    assert "echo: from the editor" in str(one.told("tool_call_update")[-1].raw_output)


async def test_a_prompt_that_waits_for_a_silent_server_can_be_cancelled(place: Place) -> None:
    silent = McpServerStdio(
        name="silent", command=sys.executable, args=["-c", "import time; time.sleep(600)"], env=[]
    )
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("nosuch = 1\n")
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project, mcp_servers=[silent])
        running = asyncio.create_task(one.say(session_id, "hello"))
        await one.until(lambda: "nosuch" in one.text())  # the sentences of the start come before the wait
        await one.agent.cancel(session_id=session_id)

        assert (await running).stop_reason == "cancelled"


async def test_slash_commands_run_without_the_model_and_skills_are_sent_to_it(
    place: Place, serve: Callable[[Any], Any]
) -> None:
    skill = place.project / ".agents/skills/petal-care/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: petal-care\ndescription: Cares for petals.\n---\nWater them: $ARGUMENTS.\n")
    command = place.home / ".config/agent-tui/commands/status.md"
    command.parent.mkdir(parents=True)
    command.write_text("Say how $1 is.\n")
    with serve([message("Watered."), message("Fine.")]) as served:
        async with editor(place.env(**served.env)) as one:
            session_id = await one.open(place.project)
            await one.until(lambda: one.told("available_commands_update"))
            await one.say(session_id, "/effort high")
            await one.say(session_id, "/check git push")
            assert served.requests == []
            await one.say(session_id, "/petal-care every day")
            await one.say(session_id, "/user:status Rose")
        request, second = served.requests

    [told] = one.told("available_commands_update")
    assert {"petal-care", "status", "user:status"} <= {one.name for one in told.available_commands}
    assert "The effort is high" in one.text()
    assert "Water them: every day." in request["messages"][0]["content"][-1]["text"]
    assert "Say how Rose is." in second["messages"][-1]["content"][-1]["text"]


async def test_commands_are_announced_with_what_to_type_behind_them(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.until(lambda: one.told("available_commands_update"))
        [told] = one.told("available_commands_update")
        await one.say(session_id, "/status")
        await one.say(session_id, "/compact")
        await one.say(session_id, "/nothing of that name")

    by_name = {command.name: command for command in told.available_commands}
    assert set(by_name) >= {"compact", "context", "status", "model", "effort"}
    assert by_name["model"].input.root.hint == "[provider:]name"
    assert by_name["status"].input is None
    assert "offline" in one.text()

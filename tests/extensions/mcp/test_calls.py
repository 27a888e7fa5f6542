import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import PermissionKind
from agent_tui.toolkit.testing import make_context
from tests.support.mcp_world import SCRIPTS, spec, world
from tests.support.patience import PATIENCE_S


async def test_h91_a_server_is_initialised_listed_and_called(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        result = await here.call("mcp__tiny__echo", '{"text": "hi"}')

        assert result.output == "echo: hi"
        assert here.status().version == "2025-11-25"
        assert here.notices == ["The MCP server 'tiny' joined with 12 tools."]


async def test_h95_an_older_version_of_the_protocol_is_accepted(workspace: Path) -> None:
    async with world(workspace, [spec(env={"OLD_VERSION": "2024-11-05"})]) as here:
        assert here.status().version == "2024-11-05"
        assert (await here.call("mcp__tiny__echo")).output == "echo: None"


async def test_h95_a_version_nobody_knows_fails_that_server(workspace: Path) -> None:
    async with world(workspace, [spec(env={"OLD_VERSION": "1999-01-01"})]) as here:
        await here.until(lambda: here.status().state == "failed")

        assert "1999-01-01" in here.status().detail


async def test_h94_empty_arguments_are_an_empty_object(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        result = await here.call("mcp__tiny__args", "")

        assert json.loads(result.output) == {"given": {}, "cwd": str(workspace)}


async def test_h94_a_failed_call_is_an_error_result(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        result = await here.call("mcp__tiny__fail")

        assert result.is_error
        assert result.output == "The tool reported an error without saying which."


async def test_h93_lines_that_are_no_messages_are_skipped_and_logged(workspace: Path) -> None:
    async with world(workspace, [spec("noise")]) as here:
        assert (await here.call("mcp__tiny__echo", '{"text": "a"}')).output == "echo: a"
        assert any("Starting up..." in line for line in here.servers.log("tiny"))


async def test_a_bug_of_ours_costs_one_server_which_nobody_waits_for_and_starts_anew_when_wanted(
    workspace: Path,
) -> None:
    async with world(workspace, [spec()], settle=False) as here:
        server = here.servers._server("tiny")
        live_once = server._live_once

        async def broken() -> ServerFault:
            server._live_once = live_once
            await server._become("starting", "")
            raise RuntimeError("a bug")

        server._live_once = broken
        async with asyncio.timeout(PATIENCE_S):
            await here.servers.settled()
        fallen = here.status().state, here.status().detail
        here.servers.reconnect("tiny")
        await here.until(lambda: here.status().state == "ready")
        here.publish()

        assert fallen == ("failed", "RuntimeError: a bug")
        assert (await here.call("mcp__tiny__echo", '{"text": "hi"}')).output == "echo: hi"


async def test_item_30_every_call_of_a_server_must_be_approved(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        needed = here.tools.permissions("mcp__tiny__echo", "{}", here.context())

        assert here.tools.needs_approval("mcp__tiny__echo")
        assert not here.tools.readable("mcp__tiny__echo")
        assert [(p.kind, p.target, p.pattern) for p in needed] == [
            (PermissionKind.TOOL, "mcp__tiny__echo", "mcp__tiny__echo")
        ]
        assert needed[0].reason == "tool 'echo' of the MCP server 'tiny'"


async def test_progress_is_reported_while_a_call_runs(workspace: Path) -> None:
    reported: list[str] = []

    async def report(text: str) -> None:
        reported.append(text)

    async with world(workspace, [spec()]) as here:
        result = await here.call("mcp__tiny__progress", ctx=replace(here.context(), report=report))

    assert result.output == "finished"
    assert reported[0] == "1 of 3 step\n"  # the others may be too close to it on a busy machine
    assert set(reported) <= {"1 of 3 step\n", "2 of 3 step\n", "3 of 3 step\n"}


async def test_progress_keeps_a_call_alive_beyond_its_time(workspace: Path) -> None:
    async with world(workspace, [spec(call_s=0.8)]) as here:
        assert (await here.call("mcp__tiny__progress")).output == "finished"


async def test_a_server_learns_the_folders_that_are_worked_on(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        result = await here.call("mcp__tiny__roots")

        assert json.loads(result.output)["roots"] == [{"uri": workspace.as_uri(), "name": "proj"}]


async def test_h_p6_a_server_sees_no_keys_of_ours(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MY_SETTING"):
        monkeypatch.setenv(name, "secret")

    async with world(workspace, [spec(env={"GIVEN_TOKEN": "for this server"})]) as here:
        seen = json.loads((await here.call("mcp__tiny__env")).output)

    assert "secret" not in seen.values()
    assert seen["GIVEN_TOKEN"] == "for this server"
    assert seen["AGENT_TUI_CHILD"] == "1"
    assert seen["HOME"] == os.environ["HOME"]


async def test_resources_and_prompts_are_listed_and_read(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        resources, prompts = await here.servers.resources(), await here.servers.prompts()

        assert [(r.uri, r.template) for r in resources] == [("memo://one", False), ("memo://{name}", True)]
        assert await here.servers.read_resource("tiny", "memo://one") == "[resource memo://one]\nremember"
        assert [(p.command, p.arguments[0].name) for p in prompts] == [("mcp__tiny__greet", "who")]
        assert await here.servers.prompt("tiny", "greet", {"who": "Ann"}) == "Greet Ann."
        with pytest.raises(ToolError, match="no MCP server 'other'"):
            await here.servers.read_resource("other", "memo://one")


async def test_item_29_a_server_of_the_sdk_works_over_stdio(workspace: Path) -> None:
    async with world(workspace, [spec("stdio", name="sdk", script="sdk_server.py")]) as here:
        ctx = replace(make_context(workspace), sees_images=True)
        added = await here.call("mcp__sdk__add", '{"a": 2, "b": 3}')
        picture = await here.call("mcp__sdk__picture", ctx=ctx)

        assert json.loads(added.output) == {"total": 5}
        assert [image.media_type for image in picture.images] == ["image/png"]
        assert (await here.servers.read_resource("sdk", "memo://note")).endswith("a note")
        assert await here.servers.prompt("sdk", "greet", {"who": "Bo"}) == "Say hello to Bo."
        assert here.tools.validate("mcp__sdk__add", '{"a": "two"}') == (
            "Invalid arguments for 'mcp__sdk__add':\n- the required parameter 'b' is missing\n"
            "- 'a': must be integer, got \"two\"\nThe parameters are: a (integer), b (integer)."
        )


def test_the_test_servers_are_where_they_are_looked_for() -> None:
    assert (SCRIPTS / "tiny.py").exists()

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from agent_tui.extensions.lines import MAX_LINE_BYTES
from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.http import HttpServer
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.protocol.errors import ToolError
from tests.support.mcp_http import Asked, Said, handshake, http_server, rpc
from tests.support.mcp_world import SCRIPTS, world


def at(url: str, *, name: str = "web", **fields: object) -> ServerSpec:
    values: dict[str, object] = {"transport": "http", "start_s": 20.0, "call_s": 20.0}
    return ServerSpec(name=name, origin="user", file="config.toml", url=url, **{**values, **fields})


@asynccontextmanager
async def sdk_server(kind: str) -> AsyncGenerator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPTS / "sdk_server.py"), kind, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.communicate()


@pytest.mark.parametrize(("kind", "path"), [("http", "/mcp"), ("sse", "/sse")])
async def test_h90_servers_of_the_sdk_work_over_http(workspace: Path, kind: str, path: str) -> None:
    async with sdk_server(kind) as port:
        spec = at(f"http://127.0.0.1:{port}{path}", transport=kind)
        async with world(workspace, [spec]) as here:
            result = await here.call("mcp__web__add", '{"a": 20, "b": 22}')

            assert json.loads(result.output) == {"total": 42}
            assert here.status("web").version == "2025-11-25"


async def test_an_old_server_is_reached_over_sse_without_being_told(workspace: Path) -> None:
    async with sdk_server("sse") as port, world(workspace, [at(f"http://127.0.0.1:{port}/sse")]) as here:
        assert (await here.call("mcp__web__add", '{"a": 1, "b": 2}')).output == '{\n  "total": 3\n}'


async def test_h92_session_and_version_are_sent_with_every_request_after_the_handshake(
    workspace: Path,
) -> None:
    def answer(asked: Asked) -> Said:
        if asked.verb == "DELETE":
            return Said()
        said = handshake(asked, version="2025-06-18", mcp_session_id="s-1")
        return said or rpc(asked, {"content": [{"type": "text", "text": "ok"}]})

    async with http_server(answer) as (url, seen):
        async with world(workspace, [at(url, headers={"Authorization": "Bearer t"})]) as here:
            assert (await here.call("mcp__web__echo")).output == "ok"

        first, later = seen[0], [asked for asked in seen[1:] if asked.verb == "POST"]
        assert first.body["params"]["protocolVersion"] == "2025-11-25"
        assert {asked.headers["mcp-session-id"] for asked in later} == {"s-1"}
        assert {asked.headers["mcp-protocol-version"] for asked in later} == {"2025-06-18"}
        assert {asked.headers["authorization"] for asked in seen} == {"Bearer t"}
        assert "application/json" in first.headers["accept"]
        assert "text/event-stream" in first.headers["accept"]
        assert seen[-1].verb == "DELETE"


async def test_h92_item_73_the_answer_is_found_among_several_events(workspace: Path) -> None:
    def answer(asked: Asked) -> Said:
        said = handshake(asked)
        if said is not None:
            return said
        ready = {
            "jsonrpc": "2.0",
            "id": asked.body["id"],
            "result": {"content": [{"type": "text", "text": "mine"}]},
        }
        note = {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "data": "working"},
        }
        lines = json.dumps(ready, indent=1).splitlines()
        events = [
            f": hello\n\nevent: message\ndata: {json.dumps(note)}\n\n",
            *(f"data: {line}\n" for line in lines),
            "\n",
        ]
        return Said(body="".join(events).encode(), kind="text/event-stream")

    async with http_server(answer) as (url, _), world(workspace, [at(url)]) as here:
        assert (await here.call("mcp__web__echo")).output == "mine"
        assert any("info: working" in line for line in here.servers.log("web"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(401), "sign in: /mcp login web"),
        (Said(403), "HTTP 403"),
        (Said(500), "HTTP 500"),
        (Said(404), "HTTP 404"),
        (Said(200, b"<html>Hello</html>", "text/html"), "text/html"),
        (Said(200, b"no json"), "JSON"),
        (Said(200, b"x", headers={"content-encoding": "gzip"}), "compressed"),
        (Said(302, headers={"location": "http://127.0.0.1:9/elsewhere"}), "not followed"),
    ],
)
async def test_mc_02_a_server_that_answers_wrongly_costs_only_itself(
    workspace: Path, said: Said, why: str
) -> None:
    async with http_server(lambda _: said) as (url, seen), world(workspace, [at(url)]) as here:
        state = "needs login" if said.status == 401 else "failed"
        await here.until(lambda: here.status("web").state == state)

        assert why in here.status("web").detail
        assert len(seen) <= 6


async def test_mc_02_nobody_listens_there(workspace: Path) -> None:
    async with world(workspace, [at("http://127.0.0.1:9/mcp")]) as here:
        await here.until(lambda: here.status("web").state == "failed")
        here.publish()

        assert len(here.notices) == 1


async def test_mc_03_a_server_that_forgot_the_session_gets_a_new_one(workspace: Path) -> None:
    forgot = [True]

    def answer(asked: Asked) -> Said:
        if asked.verb == "DELETE":
            return Said()
        said = handshake(asked, mcp_session_id="s")
        if said is not None:
            return said
        if forgot.pop() if forgot else False:
            return Said(404)
        return rpc(asked, {"content": []})

    async with http_server(answer) as (url, _), world(workspace, [at(url)]) as here:
        with pytest.raises(ToolError, match="ended the session"):
            await here.call("mcp__web__echo")

        assert (await here.call("mcp__web__echo")).output == "(no output)"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_mc_12_an_endless_answer_is_not_read_to_its_end(workspace: Path, kind: str) -> None:
    def answer(asked: Asked) -> Said:
        if (said := handshake(asked)) is not None:
            return said
        body = json.dumps(
            {"jsonrpc": "2.0", "id": asked.body["id"], "result": {"content": [], "x": "y" * 20_000_000}}
        )
        return Said(body=(f"data: {body}\n\n" if "event" in kind else body).encode(), kind=kind)

    async with http_server(answer) as (url, _), world(workspace, [at(url)]) as here:
        with pytest.raises(ToolError, match="'web'"):
            await here.call("mcp__web__echo")


async def test_an_error_on_one_call_leaves_the_server_usable(workspace: Path) -> None:
    bad = [True]

    def answer(asked: Asked) -> Said:
        if (said := handshake(asked)) is not None:
            return said
        return Said(503) if bad and bad.pop() else rpc(asked, {"content": []})

    async with http_server(answer) as (url, _), world(workspace, [at(url)]) as here:
        with pytest.raises(ToolError, match="HTTP 503"):
            await here.call("mcp__web__echo")

        assert (await here.call("mcp__web__echo")).output == "(no output)"


class Large(httpx2.AsyncByteStream):
    """A body beyond the limit."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(MAX_LINE_BYTES // (1 << 20) + 1):
            yield bytes(1 << 20)


@pytest.mark.parametrize(
    ("transport", "verb", "status", "is_bounded"),
    [
        ("http", "POST", 500, True),
        ("http", "GET", 401, True),
        ("sse", "POST", 202, True),
        ("http", "POST", 200, False),
        ("sse", "GET", 200, False),
    ],
)
async def test_answer_that_is_read_whole_is_bounded_whatever_it_calls_itself(
    transport: str, verb: str, status: int, is_bounded: bool
) -> None:
    server = HttpServer(at("http://h", transport=transport), ServerLog())
    response = httpx2.Response(
        status,
        headers={"content-type": "text/event-stream"},
        stream=Large(),
        request=httpx2.Request(verb, "http://h"),
    )

    await server._look_at(response)
    try:
        await response.aread()
        stopped = False
    except httpx2.StreamError:
        stopped = True

    assert stopped == is_bounded

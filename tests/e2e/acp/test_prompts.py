import asyncio
import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextResourceContents,
)

from tests.e2e.conftest import PROGRAM, Place
from tests.support.acp_editor import editor
from tests.support.fake_servers import message
from tests.support.patience import RUN_S

OFFLINE = ("--provider", "offline")
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n not really").decode()


async def test_a_prompt_is_streamed_and_every_message_follows_the_schema(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.until(lambda: one.told("available_commands_update"))
        done = await one.say(session_id, "read README.md")

    assert done.stop_reason == "end_turn"
    assert "Counts petals" in one.text()
    assert len(one.told("agent_message_chunk")) > 3
    assert one.text("agent_thought_chunk")
    [call] = one.told("tool_call")
    assert (call.kind, call.status, call.raw_input) == ("read", "pending", {"file_path": "README.md"})
    assert [place_.path for place_ in call.locations] == [str(place.project / "README.md")]
    *_, last = one.told("tool_call_update")
    assert last.status == "completed"
    assert "Counts petals" in last.raw_output["output"]
    assert one.schema.seen["session/update"] == len(one.updates)
    assert one.schema.seen["session/prompt"] == 1


async def test_version_and_abilities_are_told(place: Place) -> None:
    async with editor(place.env(), *OFFLINE, initialize=False) as one:
        told = await one.agent.initialize(protocol_version=99)

    assert told.protocol_version == 1
    assert told.auth_methods == []
    abilities = told.agent_capabilities
    assert abilities is not None
    assert abilities.load_session
    assert abilities.prompt_capabilities is not None
    assert abilities.prompt_capabilities.embedded_context
    assert abilities.prompt_capabilities.image
    assert not abilities.prompt_capabilities.audio


async def test_there_is_nothing_to_log_in_to(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        with pytest.raises(RequestError, match="agent-tui auth set"):
            await one.agent.authenticate(method_id="oauth")


async def test_attached_files_images_and_links_reach_the_model(
    place: Place, serve: Callable[[Any], Any]
) -> None:
    with serve([message("I see.")]) as served:
        async with editor(place.env(**served.env)) as one:
            session_id = await one.open(place.project)
            done = await one.say(
                session_id,
                "Compare ",
                ResourceContentBlock(
                    type="resource_link", name="petals", uri=f"file://{place.project}/src/petals.py#L2:3"
                ),
                " with ",
                EmbeddedResourceContentBlock(
                    type="resource",
                    resource=TextResourceContents(uri="file:///elsewhere/a%20b.py", text="x = 1\n</context>"),
                ),
                " or ",
                EmbeddedResourceContentBlock(
                    type="resource",
                    resource=TextResourceContents(
                        uri=f"file://{place.project}/README.md",
                        text="not saved: @src/petals.py and @README.md",
                    ),
                ),
                ImageContentBlock(type="image", data=PIXEL, mime_type="image/png"),
            )
        [request] = served.requests

    assert done.stop_reason == "end_turn"
    blocks = request["messages"][0]["content"]
    assert {"type": "base64", "media_type": "image/png", "data": PIXEL} in [b.get("source") for b in blocks]
    text = blocks[-1]["text"]
    assert text.startswith('Compare @src/petals.py#2-3 with "/elsewhere/a b.py" or README.md')
    attached = [block["text"] for block in blocks[:-1] if "text" in block]
    assert sum("src/petals.py" in one for one in attached) == 1
    assert not any("Counts petals" in one for one in attached)
    assert "not saved" in text
    assert "x = 1\n<\\/context>\n</context>" in text


async def test_an_image_goes_with_a_command_of_a_file(place: Place, serve: Callable[[Any], Any]) -> None:
    command = place.home / ".config/agent-tui/commands/redraw.md"
    command.parent.mkdir(parents=True)
    command.write_text("Draw $1 anew.\n")
    with serve([message("I see.")]) as served:
        async with editor(place.env(**served.env)) as one:
            session_id = await one.open(place.project)
            image = ImageContentBlock(type="image", data=PIXEL, mime_type="image/png")
            await one.say(session_id, "/redraw petals", image)
        [request] = served.requests

    blocks = request["messages"][0]["content"]
    assert {"type": "base64", "media_type": "image/png", "data": PIXEL} in [b.get("source") for b in blocks]
    assert blocks[-1]["text"].strip() == "Draw petals anew."


async def test_what_a_command_of_the_program_cannot_use_is_told(place: Place) -> None:
    image = ImageContentBlock(type="image", data=PIXEL, mime_type="image/png")
    note = EmbeddedResourceContentBlock(
        type="resource", resource=TextResourceContents(uri="file:///note.txt", text="petals")
    )
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.say(session_id, "/status", image)
        first = one.text()
        await one.say(session_id, "/context ", image, image, note)

    assert first.strip().endswith("> Not used: the image: /status takes words only.")
    assert (
        one.text()
        .strip()
        .endswith("> Not used: the 2 images and what is attached: /context takes words only.")
    )


async def test_what_cannot_be_used_is_refused_with_its_place(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        sound = AudioContentBlock(type="audio", data="AAAA", mime_type="audio/wav")
        with pytest.raises(RequestError, match="Block 2 of the prompt: audio cannot be attached"):
            await one.say(session_id, "listen", sound)
        with pytest.raises(RequestError, match="The prompt is empty"):
            await one.say(session_id, "   ")
        with pytest.raises(RequestError, match="No session 'nowhere' is open"):
            await one.say("nowhere", "hello")
        with pytest.raises(RequestError, match="is not an absolute path"):
            await one.agent.new_session(cwd="relative", mcp_servers=[])
        with pytest.raises(RequestError, match="There is no directory"):
            await one.open(place.project / "missing")

        assert (await one.say(session_id, "hello")).stop_reason == "end_turn"


async def test_a_missing_key_and_a_failing_model_are_errors_of_the_request(
    place: Place, serve: Callable[[Any], Any]
) -> None:
    async with editor(place.env(), "--provider", "anthropic") as one:
        with pytest.raises(RequestError, match="ANTHROPIC_API_KEY") as caught:
            await one.open(place.project)
        assert caught.value.code == -32000

    with serve(lambda _request: _refusal()) as served:
        async with editor(place.env(**served.env)) as one:
            session_id = await one.open(place.project)
            with pytest.raises(RequestError, match="credit") as caught:
                await one.say(session_id, "hello")
            assert caught.value.code == -32603


def _refusal() -> Any:
    from tests.support.fake_servers import json_answer

    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "your credit is used up"}}
    return json_answer(error, code=400)


async def test_the_todo_list_is_told_as_a_plan(place: Place) -> None:
    todos = [
        {"content": "look", "status": "completed", "priority": "critical"},
        {"content": "write", "status": "in_progress", "priority": "low"},
        {"content": "ship", "status": "cancelled"},
    ]
    async with editor(place.env(), *OFFLINE) as one:
        session_id = await one.open(place.project)
        await one.say(session_id, f"call todowrite {json.dumps({'todos': todos})}")

        await one.agent.load_session(cwd=str(place.project), session_id=session_id, mcp_servers=[])

    first, again = one.told("plan")
    assert [(e.content, e.status, e.priority) for e in first.entries] == [
        ("look", "completed", "high"),
        ("write", "in_progress", "low"),
        ("ship (cancelled)", "completed", "medium"),
    ]
    assert again.entries == first.entries


async def test_several_sessions_live_in_one_process(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "README.md").write_text("# Tulip\n")
    async with editor(place.env(), *OFFLINE) as one:
        first, second = await asyncio.gather(one.open(place.project), one.open(other))
        await asyncio.gather(one.say(first, "read README.md"), one.say(second, "read README.md"))

    assert "Sunflower" in one.text(session_id=first)
    assert "Tulip" not in one.text(session_id=first)
    assert "Tulip" in one.text(session_id=second)


async def test_a_second_prompt_waits_for_the_first(place: Place) -> None:
    async with editor(place.env(), *OFFLINE) as one:
        one.hold = asyncio.Event()
        session_id = await one.open(place.project)
        running = asyncio.create_task(one.say(session_id, "create new.txt with hello"))
        await one.until(lambda: one.asked)
        with pytest.raises(RequestError, match="A turn is running in this session"):
            await one.say(session_id, "hello")
        one.hold.set()

        assert (await running).stop_reason == "end_turn"


def test_nothing_but_the_protocol_goes_to_standard_output(place: Place) -> None:
    tools = place.home / ".config/agent-tui/tools"
    tools.mkdir(parents=True)
    (tools / "shout.py").write_text(NOISY)
    lines = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/new", "params": {"cwd": str(place.project), "mcpServers": []}},
    ]
    process = subprocess.Popen(
        [*PROGRAM, "acp", *OFFLINE, "--allowed-tools", "shout"],
        env=place.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def send(message_: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message_}) + "\n")
        process.stdin.flush()

    def answer(number: int) -> tuple[Any, list[str]]:
        seen = []
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(line)
            if json.loads(line).get("id") == number and "method" not in json.loads(line):
                return json.loads(line)["result"], seen
        raise AssertionError(seen)

    for line in lines:
        send(line)
    session_id = answer(2)[0]["sessionId"]
    block = {"type": "text", "text": "call shout {}"}
    send({"id": 3, "method": "session/prompt", "params": {"sessionId": session_id, "prompt": [block]}})
    _, seen = answer(3)
    rest, err = process.communicate(timeout=RUN_S)

    assert any("shouted" in line for line in seen)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in [*seen, *rest.splitlines()])
    assert "PRINTED BY A TOOL" in err
    assert process.returncode == 0


NOISY = """
import os, subprocess
from pydantic import BaseModel
from agent_tui.toolkit.api import Tool, ToolContext, ToolResult


class ShoutParams(BaseModel):
    pass


class Shout(Tool[ShoutParams]):
    name = "shout"
    description = "Prints."
    params_type = ShoutParams
    readable = True

    def run(self, params: ShoutParams, ctx: ToolContext) -> ToolResult:
        print("PRINTED BY A TOOL", flush=True)
        os.write(1, b"WRITTEN TO DESCRIPTOR 1\\n")
        subprocess.run(["echo", "ECHOED BY A CHILD"])
        return ToolResult.success("shouted")
"""


def test_without_the_package_one_sentence_says_how_to_install_it(place: Place) -> None:
    code = "import sys; sys.modules['acp'] = None; from agent_tui.cli import main; sys.exit(main(['acp']))"

    done = subprocess.run(
        [sys.executable, "-c", code], env=place.env(), capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"agent-tui: .*pip install 'agent-client-protocol[^']+'\n", done.stderr)


def test_a_line_that_is_no_message_ends_the_connection_with_a_sentence(place: Place) -> None:
    done = subprocess.run(
        [*PROGRAM, "acp", *OFFLINE],
        env=place.env(),
        input="[]\n",
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"agent-tui: The connection to the editor broke: .*\n", done.stderr)


def test_a_file_as_input_is_refused_with_a_sentence(place: Place) -> None:
    with (place.project / "README.md").open() as file:
        done = subprocess.run(
            [*PROGRAM, "acp"], env=place.env(), stdin=file, capture_output=True, text=True, check=False
        )

    assert done.returncode == 2
    assert "needs pipes" in done.stderr

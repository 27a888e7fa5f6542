import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.screens.approval.round import Row
from tests.support.approval_requests import bash_request, edit_request, tool_request
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import stage
from tests.support.unvis import unvis

LONG = "\n".join(f"echo line {number} of a long command" for number in range(300))


@pytest.mark.parametrize(
    ("request_", "begins"),
    [
        (bash_request("c", LONG), LONG),
        (bash_request("c", "echo a\u202eb"), "echo a⟦202e⟧b"),
        (edit_request("c", "src/a.py"), "---"),
        (tool_request("c"), "{"),
    ],
    ids=["long", "odd", "diff", "arguments"],
)
async def test_lead_3_3_the_whole_of_a_call_can_be_copied(
    workspace: Path, request_: PermissionRequest, begins: str
) -> None:
    copied: list[str] = []
    backend = FakeBackend(workspace, script=[[approve(request_)]])
    async with stage(workspace, backend=backend) as here:
        here.app.copy_to_clipboard = copied.append
        await here.send("go")
        screen = await here.approval()

        await here.press("ctrl+y")

        assert screen.round.rows[0].state != "allow"
    [text] = copied
    assert text.startswith(begins)


def test_lead_3_3_what_is_copied_gives_the_command_back() -> None:
    command = "printf 'a\rb\u200b\x1b[2J'; rm -rf x"

    assert unvis(preview.copied(Row(bash_request("c", command), asyncio.Event(), 0.0))) == command

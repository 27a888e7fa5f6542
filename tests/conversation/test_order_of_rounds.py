from pathlib import Path

import pytest

from agent_tui.providers.scripted import calls, text, use
from tests.support.core_world import config_folder, configure, open_core

TOOL = '''"""Writes down when it begins and ends."""

import asyncio
from pathlib import Path

from pydantic import BaseModel

from agent_tui.toolkit.api import Permission, Tool, ToolContext, ToolResult


class Where(BaseModel):
    log: str
    begun: int


class Note(Tool[Where]):
    name = "note"
    description = "Write down."
    params_type = Where
    readable = True

    def permissions(self, params: Where, ctx: ToolContext) -> list[Permission]:
        return []

    async def run(self, params: Where, ctx: ToolContext) -> ToolResult:
        log = Path(params.log)
        with log.open("a") as file:
            file.write("begin ")
        while log.read_text().count("begin") < params.begun:
            await asyncio.sleep(0.005)
        with log.open("a") as file:
            file.write("end ")
        return ToolResult.success("done")
'''


@pytest.mark.parametrize(
    ("order", "begun", "seen"),
    [
        ("parallel", 2, "begin begin end end"),
        ("serial", 1, "begin end begin end"),
        ("atomic", 1, "begin end begin end"),
    ],
)
async def test_setting_chooses_how_the_calls_of_a_round_run(
    workspace: Path, tmp_path: Path, order: str, begun: int, seen: str
) -> None:
    configure(f'[tools]\nrounds = "{order}"\n')
    tools = config_folder() / "tools"
    tools.mkdir()
    (tools / "note.py").write_text(TOOL)
    log = tmp_path / "log"
    arguments = {"log": str(log), "begun": begun}

    async with open_core(
        workspace, calls(use("note", arguments), use("note", arguments)), text("ok")
    ) as world:
        await world.core.run_turn("write down")

    assert log.read_text().split() == seen.split()

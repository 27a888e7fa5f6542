import json
import re
import sys
from pathlib import Path

from agent_tui.extensions.mcp.config import ConfigFiles, find_servers
from tests.support.mcp_world import world

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


async def test_the_example_of_the_page_works(workspace: Path) -> None:
    (workspace / "greeter.py").write_text(block("python"))
    (workspace / ".mcp.json").write_text(block("json"))
    files = ConfigFiles(user=workspace / "none", project=[workspace / ".mcp.json"])

    async with world(workspace, find_servers(files, environ={"PYTHON": sys.executable}).servers) as here:
        result = await here.call("mcp__greeter__greet", json.dumps({"name": "Ada"}))

    assert result.output == "Hello, Ada!"

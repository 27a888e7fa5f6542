import json
import re
import sys
from pathlib import Path

from agent_tui.extensions.mcp.config import ConfigFiles, find_servers, read_source
from tests.support.mcp_world import world
from tests.support.oauth_grants import ID_TOKEN, SECRET, GrantWorld
from tests.support.oauth_server import oauth_world

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"


def block(language: str, *, about: str = "") -> str:
    """Give the first example of a language that has `about` in it."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return next(text for text in found if about in text)


async def test_the_example_of_the_page_works(workspace: Path) -> None:
    (workspace / "greeter.py").write_text(block("python"))
    (workspace / ".mcp.json").write_text(block("json"))
    files = ConfigFiles(user=workspace / "none", project=[workspace / ".mcp.json"])

    async with world(workspace, find_servers(files, environ={"PYTHON": sys.executable}).servers) as here:
        result = await here.call("mcp__greeter__greet", json.dumps({"name": "Ada"}))

    assert result.output == "Hello, Ada!"


async def test_the_example_of_client_credentials_works(workspace: Path) -> None:
    async with oauth_world(GrantWorld(client="nightly")) as there:
        text = block("json", about="client_credentials")
        text = text.replace("https://reports.example", there.origin)
        text = text.replace("https://login.example", f"{there.origin}/as")
        specs = read_source(text, origin="flag", environ={"REPORTS_SECRET": SECRET})
        async with world(workspace, specs) as here:
            assert (await here.call("mcp__reports__echo")).output == "let in"

        assert [form["scope"] for form in there.forms] == ["reports:read"]


async def test_the_example_of_a_companys_sign_in_works(workspace: Path) -> None:
    (workspace / "id").write_text(ID_TOKEN)
    async with oauth_world(GrantWorld(client="agent-tui")) as there:
        text = block("json", about="enterprise_managed")
        text = text.replace("https://wiki.example", there.origin)
        text = text.replace("https://login.wiki.example", f"{there.origin}/as")
        text = text.replace("https://idp.company.example", f"{there.origin}/idp")
        specs = read_source(text, origin="flag", environ={"WIKI_SECRET": SECRET, "ID_TOKEN_FILE": "id"})
        async with world(workspace, specs) as here:
            assert (await here.call("mcp__wiki__echo")).output == "let in"

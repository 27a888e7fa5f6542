"""Drives our MCP client for the conformance suite: `conformance_client.py URL`, the scenario in the environment."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.mcp.config import read_source
from agent_tui.extensions.mcp.guest import Desk
from agent_tui.extensions.mcp.servers import Servers
from agent_tui.extensions.mcp.sign_in import Visit
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import Question
from agent_tui.toolkit.testing import make_context
from tests.support.oauth_server import browse, fetch

METADATA_URL = "https://conformance-test.local/client-metadata.json"
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
BROWSER = """#!{python}
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=20).read()
"""


async def answer(questions: Sequence[Question]) -> list[list[str]]:
    """Open every page and leave every field of a form empty, so that defaults count."""
    return [["Open the page"] if "sign in" in q.question else [] for q in questions]


async def never() -> str | None:
    return None


def lend_browser(folder: Path) -> None:
    program = folder / "xdg-open"
    program.write_text(BROWSER.format(python=sys.executable))
    program.chmod(0o755)
    os.environ |= {"PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":7"}


async def told_issuer(url: str) -> str:
    """Look up what the person who sets the server up was told: the authorization server the credentials belong to."""
    origin = url.removesuffix("/mcp")
    _, _, body = await fetch(f"{origin}/.well-known/oauth-protected-resource/mcp")
    return str(json.loads(body)["authorization_servers"][0])


async def settings(url: str) -> dict[str, object]:
    """Write the suite's credentials down as a person does; secrets are variables."""
    known: dict[str, str] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    os.environ |= {name.upper(): value for name, value in known.items()}
    oauth: dict[str, object] = {"client_metadata_url": METADATA_URL}
    if "client_id" in known:
        oauth["client_id"] = known["client_id"]
    if "client_secret" in known:
        oauth["client_secret"] = "${CLIENT_SECRET}"
    if "private_key_pem" in known:
        oauth["private_key"] = "${PRIVATE_KEY_PEM}"
    if "client-credentials" in os.environ["MCP_CONFORMANCE_SCENARIO"]:
        oauth |= {"grant": "client_credentials", "issuer": await told_issuer(url)}
    if "idp_id_token" in known:
        idp = {"token_endpoint": known["idp_token_endpoint"], "client_id": known["idp_client_id"]}
        oauth |= {"grant": "enterprise_managed", "issuer": await told_issuer(url)}
        oauth["idp"] = {**idp, "id_token": "${IDP_ID_TOKEN}"}
    return {"mcpServers": {"suite": {"url": url, "oauth": oauth}}}


async def run(url: str, folder: Path) -> int:
    (spec,) = read_source(json.dumps(await settings(url)), origin="flag", environ=os.environ)
    desk = Desk(roots=(folder,), ask=lambda: answer, interactive=True)
    servers, tools = Servers([spec], desk=desk, state_dir=folder / "state"), CompositeSource()
    servers.start()
    try:
        await servers.settled()
        if servers.statuses()[0].state == "needs login":
            print(await servers.login("suite", Visit(lambda page: _open(page), never)))
            async with asyncio.timeout(20):
                while servers.statuses()[0].state != "ready":
                    if servers.statuses()[0].state in ("failed", "needs login"):
                        await asyncio.sleep(0.2)
                    await asyncio.sleep(0.02)
        servers.publish(tools)
        for tool in tools.specs():
            arguments = ARGUMENTS.get(tool.name.rpartition("__")[2], {})
            result = await tools.execute(tool.name, json.dumps(arguments), make_context(folder))
            print(tool.name, result.output)
        status = servers.statuses()[0]
        print(status.state, status.detail)
        return 0 if status.state == "ready" else 1
    except (ToolError, TimeoutError) as error:
        print(f"{error}\n" + "\n".join(servers.log("suite")), file=sys.stderr)
        return 1
    finally:
        await servers.aclose()


async def _open(page: str) -> None:
    await browse(page)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        (folder / "bin").mkdir()
        (folder / "project").mkdir()
        lend_browser(folder / "bin")
        sys.exit(asyncio.run(run(sys.argv[1], folder / "project")))

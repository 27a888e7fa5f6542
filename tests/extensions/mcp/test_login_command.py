import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.browser import browser_command, open_page
from tests.support.oauth_server import OAuthWorld, fetch, oauth_world
from tests.support.terminal import Terminal

FOLLOW = """#!{python}
import sys, urllib.request
open({log!r}, "a").write(sys.argv[1] + "\\n")
urllib.request.urlopen(sys.argv[1], timeout=20).read()
"""


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called xdg-open that follows a page; what it was given stands in the file."""
    folder, log = tmp_path / "bin", tmp_path / "opened"
    folder.mkdir()
    program = folder / "xdg-open"
    program.write_text(FOLLOW.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":7")
    return log


async def mcp(
    workspace: Path, *words: str, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agent_tui",
        "mcp",
        *words,
        cwd=workspace,
        env={**os.environ, **(env or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        said, _ = await process.communicate(stdin)
    assert process.returncode is not None
    return process.returncode, said.decode()


async def added(workspace: Path, there: OAuthWorld) -> None:
    assert (await mcp(workspace, "add", "web", there.url))[0] == 0


async def test_login_opens_the_browser_and_logout_forgets(workspace: Path, browser: Path) -> None:
    async with oauth_world() as there:
        await added(workspace, there)
        code, said = await mcp(workspace, "test", "web")
        assert code == 1
        assert "agent-tui mcp login web" in said

        code, said = await mcp(workspace, "login", "web")
        assert code == 0, said
        assert "Signed in to 'web'" in said
        assert browser.read_text().startswith(f"{there.origin}/as/authorize?")
        assert [secret for secret in there.secrets if secret in said] == []

        code, said = await mcp(workspace, "test", "web")
        assert "mcp__web__echo" in said

        assert "Signed out" in (await mcp(workspace, "logout", "web"))[1]
        assert (await mcp(workspace, "test", "web"))[0] == 1


async def test_without_a_browser_the_address_is_printed_and_an_answer_can_be_pasted(workspace: Path) -> None:
    async with oauth_world() as there:
        await added(workspace, there)
        argv = [sys.executable, "-m", "agent_tui", "mcp", "login", "--no-browser", "web"]
        with Terminal(argv, cwd=workspace, env=dict(os.environ), columns=900) as terminal:
            shown = await asyncio.to_thread(terminal.until, "paste it here", wait_s=40.0)
            line = next(text for text in shown.splitlines() if "/as/authorize?" in text)
            _, headers, _ = await fetch(line.strip())
            terminal.send(f"{headers['location']}\n".encode())
            await asyncio.to_thread(terminal.until, "Signed in to 'web'", wait_s=40.0)


async def test_a_denied_login_says_why_and_fails(workspace: Path, browser: Path) -> None:
    async with oauth_world(denies="access_denied") as there:
        await added(workspace, there)

        code, said = await mcp(workspace, "login", "web")

        assert code == 1
        assert "the sign-in was refused: access_denied" in said
        assert "Traceback" not in said


async def test_only_web_addresses_are_opened(workspace: Path, browser: Path) -> None:
    assert not await open_page("file:///etc/passwd", outside=workspace)
    assert not await open_page("--help", outside=workspace)
    assert not browser.exists()


async def test_a_browser_of_the_workspace_is_not_taken(
    workspace: Path, browser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser_command(outside=browser.parent / "bin") != browser.parent / "bin" / "xdg-open"


async def test_a_command_of_the_agent_cannot_sign_in(workspace: Path) -> None:
    code, said = await mcp(workspace, "login", "web", env={"AGENT_TUI_CHILD": "1"})

    assert code == 1
    assert "for a person" in said

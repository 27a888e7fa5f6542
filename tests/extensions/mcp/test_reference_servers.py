import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.config import ConfigFiles, find_servers
from agent_tui.extensions.mcp.spec import ServerSpec
from tests.support.mcp_http import Asked, Said, http_server
from tests.support.mcp_world import world
from tests.support.reference_servers import NPM, PYTHON, needs

COMMANDS = {
    "everything": [str(NPM / "mcp-server-everything")],
    "filesystem": [str(NPM / "mcp-server-filesystem"), "${FOLDER:-.}"],
    "memory": [str(NPM / "mcp-server-memory")],
    "thinking": [str(NPM / "mcp-server-sequential-thinking")],
    "git": [str(PYTHON / "mcp-server-git")],
    "time": [str(PYTHON / "mcp-server-time"), "--local-timezone", "Europe/Berlin"],
    "fetch": [str(PYTHON / "mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"],
}
pytestmark = needs(*(Path(words[0]) for words in COMMANDS.values()))


@pytest.fixture
def project(workspace: Path) -> Path:
    """A repository whose .mcp.json names all seven servers."""
    (workspace / "hello.txt").write_text("Grüße\n")
    for words in (["init", "-q"], ["add", "hello.txt"], ["commit", "-q", "-m", "first commit"]):
        subprocess.run(["git", *words], cwd=workspace, check=True)
    # Programs run by their own interpreters see only the variables they are given.
    entries = {
        name: {"command": words[0], "args": words[1:], "startup_timeout_s": 120}
        for name, words in COMMANDS.items()
    }
    entries["memory"]["env"] = {"MEMORY_FILE_PATH": str(workspace.parent / "memory.jsonl")}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": entries}))
    return workspace


def described(project: Path) -> list[ServerSpec]:
    files = ConfigFiles(user=project / "none.toml", project=[project / ".mcp.json"])
    found = find_servers(files, environ={**os.environ, "FOLDER": str(project)})
    assert found.problems == ()
    return list(found.servers)


async def test_the_official_servers_work_side_by_side_in_one_mcp_json(project: Path) -> None:
    def page(asked: Asked) -> Said:
        return Said(body=b"<html><body><p>The page of the test</p></body></html>", kind="text/html")

    async with http_server(page) as (url, _), world(project, described(project), settle=False) as here:
        async with asyncio.timeout(180):
            await here.servers.settled()
        here.publish()
        assert {s.name: (s.state, s.detail) for s in here.servers.statuses()} == dict.fromkeys(
            COMMANDS, ("ready", "")
        )

        calls = {
            "mcp__everything__get-sum": ({"a": 20, "b": 22}, "42"),
            "mcp__filesystem__read_text_file": ({"path": str(project / "hello.txt")}, "Grüße"),
            "mcp__memory__create_entities": (
                {"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes programs"]}]},
                "Ada",
            ),
            "mcp__thinking__sequentialthinking": (
                {"thought": "one", "thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": True},
                "thoughtNumber",
            ),
            "mcp__git__git_log": ({"repo_path": str(project)}, "first commit"),
            "mcp__time__get_current_time": ({"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
            "mcp__fetch__fetch": ({"url": url, "raw": True}, "The page of the test"),
        }
        answers = {name: await here.call(name, json.dumps(args)) for name, (args, _) in calls.items()}

        assert {name: answer.is_error for name, answer in answers.items()} == dict.fromkeys(calls, False)
        assert [n for n, (_, words) in calls.items() if words not in answers[n].output] == []


async def test_resources_prompts_and_completions_of_the_everything_server(project: Path) -> None:
    specs = [spec for spec in described(project) if spec.name == "everything"]
    async with world(project, specs) as here:
        resources = await here.servers.resources()
        static = next(one for one in resources if not one.template)
        prompts = {prompt.command: prompt for prompt in await here.servers.prompts()}
        department = await here.servers.complete("everything", "completable-prompt", "department", "Eng", {})

        assert await here.servers.read_resource("everything", static.uri)
        assert any(one.template for one in resources)
        assert "mcp__everything__args-prompt" in prompts
        assert department == ["Engineering"]
        assert "Berlin" in await here.servers.prompt("everything", "args-prompt", {"city": "Berlin"})


async def test_a_headless_run_waits_for_the_servers_of_a_project_it_is_told_to_trust(project: Path) -> None:
    prompt = 'call mcp__time__get_current_time {"timezone": "Asia/Tokyo"}'
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "agent_tui", "-p", prompt, "--provider", "offline", "--trust"),
        *("--allowed-tools", "mcp__time", "--output-format", "stream-json"),
        cwd=project,
        env={**os.environ, "FOLDER": str(project)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(180):
        said, complaint = await process.communicate()

    assert process.returncode == 0, complaint.decode()
    assert "Asia/Tokyo" in said.decode()

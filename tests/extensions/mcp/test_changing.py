import json
import tomllib
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.changing import Refused, apply_line
from agent_tui.extensions.mcp.config import ServerFiles


@pytest.fixture
def files(tmp_path: Path) -> ServerFiles:
    (tmp_path / "home").mkdir()
    return ServerFiles.of(tmp_path, tmp_path / "home/config.toml")


def test_a_typed_line_adds_and_removes_what_it_does_in_a_shell(files: ServerFiles) -> None:
    said, name = apply_line("add -e 'WORDS=two words' sums -- run 'a file' --env x", files)

    assert (said, name) == (f"Added 'sums' to {files.user}.", "sums")
    written = tomllib.loads(files.user.read_text())["mcp"]["servers"]["sums"]
    assert written == {"command": "run", "args": ["a file", "--env", "x"], "env": {"WORDS": "two words"}}

    assert apply_line("remove sums", files) == (f"Removed 'sums' from {files.user}.", "sums")
    assert files.user.read_text() == ""


@pytest.mark.parametrize("scope", ["user", "project"])
def test_the_sign_in_of_a_program_is_written_as_it_is_read(files: ServerFiles, scope: str) -> None:
    keys = {
        "grant": "client_credentials",
        "client_id": "007",
        "client_secret": "${SECRET}",
        "redirect_port": "81",
    }
    flags = " ".join(f"--oauth '{key}={value}'" for key, value in {**keys, "scopes": "read write"}.items())
    apply_line(f"add -s {scope} {flags} --oauth idp.client_id=x web https://web.example/mcp", files)

    servers = (
        tomllib.loads(files.user.read_text())["mcp"]["servers"]
        if scope == "user"
        else json.loads(files.project.read_text())["mcpServers"]
    )
    assert servers["web"]["oauth"] == {
        **keys,
        "redirect_port": 81,
        "scopes": "read write",
        "idp": {"client_id": "x"},
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("add", "the following arguments are required: name"),
        ("add a", "give a URL, or -- and a command"),
        ("add a 'b", "No closing quotation"),
        ("add --nonsense a -- b", "unrecognized arguments: --nonsense"),
        ("add -s projekt a -- b", "did you mean 'project'?"),
        ("add --oauth client_id=x a -- b", "only a server with a URL has a sign-in"),
        (
            "add --oauth klient_id=x a https://a",
            "there is no oauth key 'klient_id'; did you mean 'client_id'?",
        ),
        ("add --oauth idp=x a https://a", "there is no oauth key 'idp'"),
        ("add --oauth redirect_port=high a https://a", "oauth.redirect_port"),
        ("add --oauth grant=client_credentials a https://a", "oauth.client_id is needed"),
        ("remove nobody", "has no MCP server 'nobody'"),
    ],
)
def test_a_line_that_makes_no_sense_changes_nothing_and_says_why(
    files: ServerFiles, line: str, why: str
) -> None:
    with pytest.raises(Refused) as refused:
        apply_line(line, files)

    assert why in str(refused.value)
    assert "usage" not in str(refused.value)
    assert not files.user.exists()

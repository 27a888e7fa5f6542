from pathlib import Path

import pytest

from agent_tui.toolkit.environment import child_environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://me:word@db.example/x"),
        ("REDIS", "redis://:word@localhost:6379/0"),
        ("HTTPS_PROXY", "http://me:word@proxy:3128"),
        ("PIP_INDEX_URL", "https://me@index.example/simple"),
        ("ODD", "amqp://me:a/b@host"),
        ("MIXED", "see https://me:word@host/ for more"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("XAUTHORITY", "/home/me/.Xauthority"),
        ("NPM_AUTH", "abc"),
        ("HTTP_AUTHORIZATION", "Basic abc"),
        ("basic_auth", "abc"),
    ],
)
def test_a_variable_that_holds_a_password_reaches_no_command(name: str, value: str) -> None:
    seen = child_environment(Path("/proj"), base={name: value, "PATH": "/bin"}).variables

    assert name not in seen
    assert seen["PATH"] == "/bin"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_AUTHOR_NAME", "Me"),
        ("GIT_AUTHOR_EMAIL", "me@example.invalid"),
        ("HTTP_PROXY", "http://proxy:3128"),
        ("HOMEPAGE", "https://example.invalid/@me"),
        ("QUERY", "https://example.invalid/?to=a@b"),
    ],
)
def test_a_variable_without_a_password_reaches_commands(name: str, value: str) -> None:
    assert child_environment(Path("/proj"), base={name: value}).variables[name] == value

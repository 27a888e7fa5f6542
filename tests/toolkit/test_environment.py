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


def git_settings(**base: str) -> list[tuple[str, str]]:
    seen = child_environment(Path("/proj"), base=base, only_reads=True).variables
    count = int(seen["GIT_CONFIG_COUNT"])
    return [(seen[f"GIT_CONFIG_KEY_{n}"], seen[f"GIT_CONFIG_VALUE_{n}"]) for n in range(count)]


def test_the_users_own_git_settings_come_first_and_those_with_passwords_not_at_all() -> None:
    settings = git_settings(
        GIT_CONFIG_COUNT="3",
        GIT_CONFIG_KEY_0="user.name",
        GIT_CONFIG_VALUE_0="Me",
        GIT_CONFIG_KEY_1="http.extraHeader",
        GIT_CONFIG_VALUE_1="Authorization: Basic abc",
        GIT_CONFIG_KEY_2="core.fsmonitor",
        GIT_CONFIG_VALUE_2="true",
    )

    assert settings[:2] == [("user.name", "Me"), ("core.fsmonitor", "true")]
    assert ("core.fsmonitor", "false") in settings[2:]
    assert not any("abc" in value for _, value in settings)


def test_without_settings_a_command_that_may_write_gets_none() -> None:
    seen = child_environment(Path("/proj"), base={"GIT_CONFIG_COUNT": "x"}).variables

    assert not [name for name in seen if name.startswith(("GIT_CONFIG_", "GIT_OPTIONAL"))]

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.commands import Setup, main
from agent_tui.extensions.mcp.config import (
    ConfigFiles,
    Found,
    ServerFiles,
    find_servers,
    project_places,
)
from agent_tui.extensions.mcp.oauth_config import OAuthClient
from agent_tui.extensions.trust import TrustStore
from tests.support.mcp_world import SCRIPTS


def found(user: Path, *, environ: dict[str, str] | None = None, **more: object) -> Found:
    return find_servers(ConfigFiles(user=user, **more), environ=environ or {})


def written(path: Path, servers: object) -> Path:
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def test_cf_03_an_unknown_key_of_our_settings_is_told_and_costs_nothing(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text('[mcp.servers.x]\ncommand = "true"\ntype = "stdio"\nfutureKey = 1\ntimeout = 5\n')
    project = written(tmp_path / ".mcp.json", {"two": {"command": "c", "alwaysAllow": []}})

    all_of_it = found(user, project=[project])

    assert [spec.problem for spec in all_of_it.servers] == ["", ""]
    assert all_of_it.problems == (
        f"{user}:4: the MCP server 'x': unknown key 'futureKey'",
        f"{user}:5: the MCP server 'x': unknown key 'timeout'; did you mean 'startup_timeout_s' or 'timeout_s'?",
    )


def test_a_server_that_cannot_be_used_is_told_with_its_line(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text(
        '[mcp.servers.a]\nargs = ["x"]\ncommand = 5\n[mcp.servers.b]\n'
        '[mcp.servers.c]\ncommand = "c"\n[mcp.servers.c.env]\nKEY = []\n'
    )
    project = tmp_path / ".mcp.json"
    project.write_text('{\n"mcpServers": {\n"one": {\n"url": "http://x",\n"args": 3}}}\n')

    all_of_it = found(user, project=[project])

    assert [(spec.name, spec.place(), spec.problem) for spec in all_of_it.servers] == [
        ("a", f"{user}:3", "command: a text is expected"),
        ("b", f"{user}:4", "exactly one of command and url is needed"),
        ("c", f"{user}:8", "env.KEY: a text is expected"),
        ("one", f"{project}:5", "args: a list is expected"),
    ]


def test_a_file_that_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    user, project = tmp_path / "config.toml", tmp_path / ".mcp.json"
    user.write_text("a = 1\nb\n")
    project.write_text('{\n"mcpServers"\n}\n')

    assert found(user, project=[project]).problems == (
        f"{user}:2: is not valid TOML: expected '=' after a key in a key/value pair (column 2)",
        f"{project}:3: is not valid JSON: Expecting ':' delimiter",
    )


def test_servers_of_the_user_and_of_the_project_are_read(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text(
        '[ui]\ntheme = "dark"\n[mcp.servers.one]\ncommand = "one"\nargs = ["-x"]\ntimeout_s = 5\n'
    )
    project = written(
        tmp_path / ".mcp.json",
        {"two": {"url": "https://u:p@two.example/mcp?key=1"}, "off": {"command": "c", "disabled": True}},
    )

    one, two, off = found(user, project=[project]).servers

    assert (one.name, one.origin, one.transport, one.target, one.call_s) == (
        "one",
        "user",
        "stdio",
        "one -x",
        5.0,
    )
    assert (two.origin, two.transport, two.target) == ("project", "http", "https://two.example/mcp")
    assert not off.enabled


def test_variables_are_put_in_place(tmp_path: Path) -> None:
    file = written(
        tmp_path / ".mcp.json",
        {
            "a": {
                "command": "${BIN:-python}",
                "args": ["${DIR}/x", "${EMPTY:-d}", "$HOME", "${NOTHING:-}"],
                "env": {"T": "${TOKEN}", "N": 1},
            },
            "b": {"url": "http://x/${MISSING}"},
        },
    )

    a, b = found(tmp_path / "none", project=[file], environ={"DIR": "/d", "TOKEN": "t", "EMPTY": ""}).servers

    assert (a.command, a.args, a.env) == ("python", ("/d/x", "d", "$HOME", ""), {"T": "t", "N": "1"})
    assert b.problem == "the environment variable MISSING is not set"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "exactly one of command and url"),
        ({"command": "a", "url": "http://x"}, "exactly one of command and url"),
        ({"command": "a", "type": "http"}, "does not fit"),
        ({"url": "http://x", "type": "pigeon"}, "does not fit"),
        ({"url": "file:///etc/passwd"}, "must begin with http"),
        ({"command": ["a"]}, "command: "),
        ({"command": "a", "timeout_s": -1}, "timeout_s: "),
        ("a", "a table is expected"),
    ],
)
def test_a_server_that_is_written_down_wrongly_costs_only_itself(
    tmp_path: Path, entry: object, problem: str
) -> None:
    bad, good = found(
        tmp_path / "none", project=[written(tmp_path / "m.json", {"bad": entry, "good": {"command": "c"}})]
    ).servers

    assert problem in bad.problem
    assert good.problem == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 3}', "\xff", "[" * 100_000])
def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path, text: str) -> None:
    file = tmp_path / ".mcp.json"
    file.write_bytes(text.encode("latin-1"))

    result = found(tmp_path / "none", project=[file])

    assert result.servers == ()
    assert len(result.problems) == 1
    assert str(file) in result.problems[0]


def test_a_projects_server_takes_no_name_of_the_users(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text('[mcp.servers.git]\ncommand = "mine"\n')
    project = written(tmp_path / ".mcp.json", {"git": {"command": "theirs"}})

    result = found(user, project=[project])

    assert [server.command for server in result.servers] == ["mine"]
    assert "has one of that name" in result.problems[0]


def test_given_servers_come_first_and_strictly_alone(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text('[mcp.servers.a]\ncommand = "user"\n[mcp.servers.b]\ncommand = "user"\n')
    given = ['{"mcpServers": {"a": {"command": "flag"}}}']

    assert [(s.name, s.command) for s in found(user, given=given).servers] == [("a", "flag"), ("b", "user")]
    assert [s.name for s in found(user, given=given, strict=True).servers] == ["a"]
    assert "there is no such file" in found(user, given=[str(tmp_path / "no.json")]).problems[0]


def test_the_project_ends_at_its_git_root(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    inner = root / "a"
    inner.mkdir(parents=True)
    (root / ".git").mkdir()

    places = [place.relative_to(tmp_path) for place in project_places(inner, home=tmp_path)]

    assert places[:2] == [Path("repo/a/.mcp.json"), Path("repo/.mcp.json")]
    assert all(place.parts[0] == "repo" for place in places)


class Shell:
    def __init__(self, tmp_path: Path) -> None:
        self.workspace = tmp_path / "proj"
        self.workspace.mkdir()
        self.user = tmp_path / "config" / "config.toml"
        self.state = tmp_path / "state"

    def __call__(self, *words: str) -> int:
        def setup(_cwd: Path) -> Setup:
            files = ConfigFiles(user=self.user, project=[self.workspace / ".mcp.json"])
            return Setup(
                self.workspace,
                ServerFiles.of(self.workspace, self.user),
                self.state,
                find_servers(files),
                trusted=False,
            )

        return main(words, setup=setup)


TINY = (sys.executable, "-S", str(SCRIPTS / "tiny.py"))


@pytest.mark.parametrize("action", ["get", "test"])
def test_a_server_that_trust_is_missing_for_is_refused_with_that_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    shell = Shell(tmp_path)
    shell("list")
    assert "does not count" not in capsys.readouterr().out

    (shell.workspace / ".mcp.json").write_text('{"mcpServers": {}}')

    assert shell(action, "reports") == 1
    assert "'reports' here. .mcp.json does not count: this project is not trusted" in capsys.readouterr().err


def test_servers_are_added_listed_shown_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path)
    shell.user.parent.mkdir()
    shell.user.write_text("# mine\n[ui]\ntheme = 'dark'  # stays\n")

    assert shell("add", "-e", "TOKEN=secret", "tiny", "--", *TINY, "good") == 0
    assert shell("add", "-s", "project", "-H", "X-Key: secret", "web", "https://x.example/mcp") == 0
    assert shell("add", "tiny", "--", "again") == 1
    assert shell("list") == 0
    assert shell("get", "tiny") == 0
    said = capsys.readouterr().out

    assert "secret" not in said
    assert "https://x.example/mcp" in said
    assert "not trusted" in said
    assert "# stays" in shell.user.read_text()
    assert json.loads((shell.workspace / ".mcp.json").read_text())["mcpServers"]["web"]["headers"] == {
        "X-Key": "secret"
    }
    assert shell("remove", "tiny") == 0
    assert shell("remove", "tiny") == 1
    assert shell.user.read_text().strip() == "# mine\n[ui]\ntheme = 'dark'  # stays"


@pytest.mark.parametrize(
    "words",
    [
        ("add", "bad name", "--", "c"),
        ("add", "a"),
        ("add", "a", "not-a-url"),
        ("add", "a", "https://x", "--", "c"),
        ("add", "-t", "http", "a", "--", "c"),
        ("add", "-e", "novalue", "a", "--", "c"),
        ("get", "nobody"),
        ("test", "nobody"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    tmp_path: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert Shell(tmp_path)(*words) == 1
    assert capsys.readouterr().err.startswith("agent-tui: ")


def test_a_server_can_be_tried_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(tmp_path)
    shell("add", "good", "--", *TINY, "good")
    shell("add", "bad", "--", *TINY, "exit")
    capsys.readouterr()

    assert shell("test", "good") == 0
    assert "mcp__good__echo" in capsys.readouterr().out
    assert shell("test", "bad") == 1
    assert "cannot open the database" in capsys.readouterr().out


def test_h_p3_a_change_can_be_accepted_from_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path)
    words = tmp_path / "words"
    words.write_text("old words")
    shell("add", "s", "--", *TINY, "changing", str(words))
    shell("test", "s")
    words.write_text("new words")
    capsys.readouterr()

    assert shell("accept", "--yes", "s") == 0
    said = capsys.readouterr().out

    assert "-old words\n+new words" in said
    assert "Accepted: mcp__s__echo" in said


def test_a_command_of_the_agent_changes_no_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_CHILD", "1")

    assert Shell(tmp_path)("add", "a", "--", "c") == 1
    assert not (tmp_path / "config").exists()


def test_the_sdk_is_not_imported_before_a_server_starts() -> None:
    code = (
        "import sys, agent_tui.extensions.mcp.servers, agent_tui.extensions.mcp.commands\n"
        "print(sorted({'mcp', 'mcp_types', 'httpx2', 'anyio'} & set(sys.modules)))"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "[]"


def test_h_p1_what_a_projects_settings_would_start_is_shown_before_it_is_trusted(
    workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".agent-tui").mkdir()
    (workspace / ".agent-tui" / "config.toml").write_text(
        '[mcp.servers.x]\ncommand = "sh"\nargs = ["-c", "evil"]\n'
    )
    written(workspace / ".mcp.json", {"y": {"url": "https://evil.example"}})

    items = TrustStore(tmp_path, home=tmp_path).verdict(workspace).items

    assert [(item.kind, item.name, item.detail) for item in items] == [
        ("MCP server", "x", "sh -c evil"),
        ("MCP server", "y", "https://evil.example"),
    ]


def test_m25_starting_and_calling_have_their_limits(tmp_path: Path) -> None:
    file = written(
        tmp_path / ".mcp.json", {"plain": {"command": "c"}, "own": {"url": "http://x/", "timeout_s": 5}}
    )

    found = find_servers(ConfigFiles(user=tmp_path / "none", project=[file]), environ={})

    assert [(s.start_s, s.call_s) for s in found.servers] == [(30.0, 60.0), (30.0, 5.0)]


def test_what_a_sign_in_knows_us_as_is_read_and_its_secret_expanded(tmp_path: Path) -> None:
    oauth = {"client_id": "mine", "client_secret": "${SECRET}", "redirect_port": 4321}
    file = written(tmp_path / ".mcp.json", {"web": {"url": "https://x.example/mcp", "oauth": oauth}})

    (spec,) = find_servers(
        ConfigFiles(user=tmp_path / "none", project=[file]), environ={"SECRET": "hush"}
    ).servers

    assert spec.oauth == OAuthClient(client_id="mine", client_secret="hush", redirect_port=4321)
    assert "hush" not in repr(spec)

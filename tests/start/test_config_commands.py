import os
from pathlib import Path

import pytest

from agent_tui.cli import main
from agent_tui.config.paths import user_paths
from agent_tui.extensions.trust import TrustStore
from tests.support.core_world import config_folder, configure
from tests.support.settings_world import SettingsWorld

WRITTEN = """# mine
[ui]
# calm
theme = "nord"  # the one I like
mouse = false
"""


HAIL = """
from pydantic import BaseModel

from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.tool import Tool


class Params(BaseModel):
    pass


class Hail(Tool[Params]):
    name = "hail"
    description = "Says hello."
    params_type = Params

    def run(self, params, ctx):
        return ToolResult.success("hello")
"""


PETAL = """
async def petal(arguments, ctx):
    return "one"


def extend(agent):
    agent.register_tool("petal", "Count petals.", None, petal)
"""


@pytest.fixture(autouse=True)
def _there(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("ui.theme", "nosuch", "there is no 'nosuch'; there are dark, light"),
        ("ui.theme", "nrod", "did you mean 'nord'?"),
        ("ui.status", "mode,modle", "there is no 'modle'; did you mean 'mode' or 'model'?"),
        ("ui.keys", "emcas", "did you mean 'emacs'?"),
        ("model.effort", "hgih", "did you mean 'high'?"),
        ("model.provider", "antropic", "did you mean 'anthropic'?"),
        ("permissions.mode", "pln", "did you mean 'plan'?"),
        ("ui.mouse", "maybe", "there are true, false"),
    ],
)
def test_value_that_is_none_of_the_known_ones_is_refused(
    key: str, value: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configure(WRITTEN)

    code = main(["config", "set", key, value])

    assert code == 1
    assert said in capsys.readouterr().err
    assert file.read_text() == WRITTEN


@pytest.mark.parametrize("value", ["nord", "Nord", "mine"])
def test_theme_that_is_there_is_taken_also_one_of_the_user(value: str) -> None:
    themes = config_folder() / "themes"
    themes.mkdir()
    (themes / "mine.toml").write_text("dark = true\n")

    assert main(["config", "set", "ui.theme", value]) == 0
    assert f'theme = "{value}"' in (config_folder() / "config.toml").read_text()


async def test_settings_screen_refuses_the_same_words(tmp_path: Path) -> None:
    world = SettingsWorld(tmp_path)

    with pytest.raises(Exception, match=r"there is no 'nrod'; did you mean 'nord'\?"):
        await world.desk.set("ui.theme", "nrod", "user")


def test_unset_takes_one_setting_out_and_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    file = configure(WRITTEN)

    code = main(["config", "unset", "ui.theme"])

    assert code == 0
    assert capsys.readouterr().out == f"ui.theme is taken out of {file}; the default counts\n"
    assert file.read_text() == "# mine\n[ui]\n# calm\nmouse = false\n"


def test_unset_of_the_project_says_what_counts_then(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configure(WRITTEN)
    project = workspace / ".agent-tui/config.toml"
    project.parent.mkdir()
    project.write_text('[ui]\ntheme = "dark"\n')

    code = main(["config", "unset", "ui.theme", "--scope", "project"])

    assert code == 0
    said = capsys.readouterr().out
    assert said == f"ui.theme is taken out of {project}; what {file} says counts\n"


@pytest.mark.parametrize(("trusted", "name"), [(True, "theirs"), (False, "mine")])
def test_settings_are_told_as_a_run_here_uses_them(
    trusted: bool, name: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure('[model]\nprovider = "ollama"\nname = "mine"\n')
    project = workspace / ".agent-tui/config.toml"
    project.parent.mkdir()
    project.write_text('[model]\nname = "theirs"\n')
    private = workspace / ".agent-tui/config.local.toml"
    private.write_text('[model]\nname = "private"\n')
    if trusted:
        main(["config", "unset", "model.name", "--scope", "private"])
        TrustStore(user_paths().state).accept(workspace)
    capsys.readouterr()

    main(["config", "get", "model.name"])
    main(["doctor"])

    said = capsys.readouterr().out
    assert said.startswith(f'model.name = "{name}"  # ')
    assert f"ollama:{name}, " in said
    if not trusted:
        main(["config", "unset", "model.name", "--scope", "private"])
        assert capsys.readouterr().out.endswith(f"what {config_folder() / 'config.toml'} says counts\n")


def test_the_tools_of_a_trusted_project_are_listed(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = workspace / ".agent-tui/tools"
    tools.mkdir(parents=True)
    (tools / "hail.py").write_text(HAIL)

    main(["tool", "--list"])
    before = capsys.readouterr().out
    TrustStore(user_paths().state).accept(workspace)
    main(["tool", "--list"])

    assert "hail" not in before
    assert "hail" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("ui.theme", "ui.theme: does not stand there\n"),
        ("ui.thme", "ui.thme: does not stand there; did you mean 'ui.theme'?\n"),
    ],
)
def test_unset_of_what_does_not_stand_there_is_refused(
    key: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "unset", key]) == 1
    assert capsys.readouterr().err.endswith(said)


def test_agent_itself_cannot_unset(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configure(WRITTEN)
    monkeypatch.setitem(os.environ, "AGENT_TUI_CHILD", "1")

    assert main(["config", "unset", "ui.theme"]) == 2
    assert file.read_text() == WRITTEN


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[permissions]\ndeny = "Bash(rm *)"\n', "config.toml:2: permissions.deny is not a list of rules"),
        ('[permissions]\ndeny = ["Bsh(rm *)"]\n', "config.toml:2: deny 'Bsh(rm *)': there is no tool 'Bsh'"),
        (
            '[[hooks.pre_tol]]\ncommand = "x"\n',
            "config.toml:1: hooks.pre_tol: there is no such event; did you mean 'pre_tool'?",
        ),
        ('hooks = "x"\n', "config.toml: hooks: tables are expected: [[hooks.EVENT]] with a command"),
        ("[[hooks.pre_tool]]\n", "config.toml:1: hooks.pre_tool: command: is missing"),
        ('[ui]\ntheme = "nrod"\n', "config.toml:2: ui.theme: there is no 'nrod'; did you mean 'nord'?"),
        (
            '[profiles.x.ui]\n\nmouse = "maybe"\n',
            "config.toml:3: ui.mouse: there is no 'maybe'; there are true, false; the default counts",
        ),
        (
            '[profiles.x.permissions]\ndeny = ["Bsh(rm *)"]\n',
            "config.toml:2: deny 'Bsh(rm *)': there is no tool 'Bsh'",
        ),
        ("[mcp.servers.a]\ncommand = 5\n", "config.toml:2: mcp server 'a': command: a text is expected"),
        (
            "[limits]\n\nmax_tokens = -1\n",
            "config.toml:3: limits.max_tokens: must be at least 0, got -1; the",
        ),
        ("[ui]\nstatus = 3\n", "config.toml:2: ui.status: a list is expected, got 3; the default counts"),
        (
            '[tools]\ndisable = ["bash", "mcp__x__y", "wbfetch"]\n',
            "config.toml:2: tools.disable: no tool is known as 'wbfetch'; did you mean 'webfetch'?",
        ),
        (
            '[tools]\noverride = ["rd"]\n',
            "config.toml:2: tools.override: no tool is known as 'rd'; did you mean",
        ),
        (
            '[extensions]\ndisable = ["none"]\n',
            "config.toml:2: extensions.disable: no extension is known as 'none'",
        ),
        ("[ui]\n\ntheme\n", "config.toml:3: not valid TOML: expected '=' after a key"),
        (
            "[model.facts.a]\ncontext_token = 3\n",
            "config.toml:2: model.facts.a.context_token: is no fact of a model; did you mean 'context_tokens'?",
        ),
    ],
)
def test_validate_and_doctor_say_what_a_run_would_find(
    settings: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(settings)

    assert main(["config", "validate"]) == 1
    assert said in (printed := capsys.readouterr().out)
    assert printed.endswith("1 problem\n")
    assert main(["doctor"]) == 1
    assert said in capsys.readouterr().out


def test_tools_and_extensions_of_ones_own_may_be_switched_off(capsys: pytest.CaptureFixture[str]) -> None:
    configure('[tools]\ndisable = ["hail", "petal"]\n[extensions]\ndisable = ["off"]\n')
    for name, text in (
        ("tools/other.py", HAIL),
        ("extensions/flower.py", PETAL),
        ("extensions/off.py", "raise SystemExit\n"),
    ):
        (config_folder() / name).parent.mkdir(exist_ok=True)
        (config_folder() / name).write_text(text)

    assert (main(["config", "validate"]), capsys.readouterr().out) == (0, "no problems\n")


def test_validate_runs_tool_files_only_to_know_the_names_of_a_list(workspace: Path) -> None:
    (config_folder() / "tools").mkdir()
    ran = workspace / "ran"
    (config_folder() / "tools/hail.py").write_text(f"{HAIL}\nopen({str(ran)!r}, 'w').close()\n")

    main(["config", "validate"])
    without = ran.exists()
    configure('[tools]\ndisable = ["hail"]\n')
    main(["config", "validate"])

    assert (without, ran.exists()) == (False, True)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "keymap.toml",
            '[prompt]\n"enter" = "nope"\n[promt] # mine\n"f9" = "submit"\n',
            ["keymap.toml:2: prompt.enter: no action 'nope'", "keymap.toml:3: promt: no context 'promt'"],
        ),
        (
            "keymap.toml",
            '[prompt]\n"f9" = "stash"\n"f9 a" = "escape"\n',
            ["keymap.toml:2: prompt.f9: begins chords that cannot be pressed any more: F9 a (prompt: "],
        ),
        (
            "themes/My Own.TOML",
            "dark = true\n",
            ["My Own.TOML: a theme's name has small letters, digits and '-' only; call the file my-own.toml"],
        ),
        (
            "themes/mine.toml",
            'dark = 1\n[colors]\nacent = "red"\ntext = "blau"\n',
            ["mine.toml:1: dark: ", "mine.toml:3: colors.acent: no such", "mine.toml:4: colors.text: "],
        ),
    ],
)
def test_validate_names_each_wrong_line_of_the_files_of_the_screen(
    name: str, text: str, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (config_folder() / "themes").mkdir()
    (config_folder() / name).write_text(text)

    assert main(["config", "validate"]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert [part for part, line in zip(said, lines, strict=True) if part not in line] == []
    assert last == ("1 problem" if len(said) == 1 else f"{len(said)} problems")

import os
import string
import unicodedata
from pathlib import Path

import pytest

from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Risk
from agent_tui.toolkit import paths
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.names import folded, is_protected, is_secret
from agent_tui.toolkit.testing import make_context


@pytest.fixture
def ctx(workspace: Path) -> ToolContext:
    return make_context(workspace)


def test_h57_relative_path_starts_at_the_workspace(ctx: ToolContext) -> None:
    target = paths.resolve("src/../a.txt", ctx)

    assert (target.real, target.inside, target.shown) == (ctx.workspace / "a.txt", True, "a.txt")


def test_absolute_path_inside_is_shown_relative(ctx: ToolContext) -> None:
    assert paths.resolve(str(ctx.workspace / "b/c"), ctx).shown == "b/c"


@pytest.mark.parametrize("given", ["", "  ", "a\0b", "x/" + "y" * 256, "bad\ud800name"])
def test_path_that_cannot_be_is_refused(given: str, ctx: ToolContext) -> None:
    with pytest.raises(ToolError):
        paths.resolve(given, ctx)


def test_home_is_meant_by_a_tilde(ctx: ToolContext) -> None:
    assert paths.resolve("~/notes.txt", ctx).real == Path.home() / "notes.txt"
    (ctx.workspace / "~").mkdir()
    (ctx.workspace / "~/notes.txt").write_text("x")
    assert paths.resolve("~/notes.txt", ctx).real == ctx.workspace / "~/notes.txt"


def test_an_at_sign_of_a_mention_is_no_part_of_the_path(ctx: ToolContext) -> None:
    (ctx.workspace / "a b.txt").write_text("x")
    assert paths.resolve("@a b.txt", ctx).shown == "a b.txt"
    assert paths.resolve('@"a b.txt"', ctx).shown == "a b.txt"
    assert paths.resolve("@new.txt", ctx).shown == "@new.txt"
    (ctx.workspace / "@a b.txt").write_text("x")
    assert paths.resolve("@a b.txt", ctx).shown == "@a b.txt"


@pytest.mark.parametrize("folder", [".config", ".local/share", ".local/state", ".cache"])
def test_own_folders_are_refused_outright(folder: str, ctx: ToolContext) -> None:
    with pytest.raises(ToolError, match="own folders"):
        paths.resolve(f"~/{folder}/agent-tui/x", ctx)
    assert paths.resolve(f"~/{folder}/agent-tui-other", ctx)


def test_session_folder_inside_the_own_data_is_readable(workspace: Path) -> None:
    ctx = make_context(workspace, data_dir=Path.home() / ".local/share/agent-tui/sessions/s0")

    target = paths.resolve(str(ctx.data_dir / "out.txt"), ctx)

    assert paths.read_permission(target).risk is Risk.LOW
    with pytest.raises(ToolError):
        paths.resolve(str(ctx.data_dir.parent / "s1/out.txt"), ctx)


@pytest.mark.parametrize(
    ("given", "read", "write"),
    [
        ("src/a/x.py", "Read(/src/a/**)", "Edit(/src/a/**)"),
        ("x.py", "Read(/x.py)", "Edit(/x.py)"),
        ("src/[id]/*.py", r"Read(/src/\[id\]/**)", r"Edit(/src/\[id\]/**)"),
        ("/etc/hosts", "Read(//etc/**)", "Edit(//etc/**)"),
        ("/x", "Read(//x)", "Edit(//x)"),
    ],
)
def test_pattern_names_the_directory_and_nothing_wider(
    given: str, read: str, write: str, ctx: ToolContext
) -> None:
    target = paths.resolve(given, ctx)

    assert paths.read_permission(target).pattern == read
    assert paths.write_permission(target).pattern == write


def test_pattern_of_a_file_in_the_home_folder_is_the_file(ctx: ToolContext) -> None:
    target = paths.resolve("~/x.txt", ctx)

    assert paths.write_permission(target).pattern == f"Edit(/{Path.home()}/x.txt)"


def test_pattern_of_a_folder_is_the_folder(ctx: ToolContext) -> None:
    assert paths.read_permission(paths.resolve("src", ctx), is_folder=True).pattern == "Read(/src/**)"
    assert paths.read_permission(paths.resolve(".", ctx), is_folder=True).pattern == "Read(/**)"


def test_extra_root_counts_as_inside(workspace: Path, tmp_path: Path) -> None:
    ctx = make_context(workspace)
    (tmp_path / "extra").mkdir()
    ctx.extra_roots = (tmp_path / "extra",)

    target = paths.resolve(str(tmp_path / "extra/a.txt"), ctx)

    assert target.inside
    assert paths.write_permission(target).pattern == f"Edit(/{tmp_path}/extra/a.txt)"


def test_link_is_told_with_its_target(ctx: ToolContext, tmp_path: Path) -> None:
    (ctx.workspace / "ln").symlink_to(tmp_path)

    need = paths.write_permission(paths.resolve("ln/x", ctx))

    assert need.target == str(tmp_path / "x")
    assert f"ln/x is a link to {tmp_path / 'x'}" in need.reason
    assert f"outside the project, in {tmp_path}" in need.reason


def test_link_that_is_turned_after_the_check_stops_the_call(ctx: ToolContext, tmp_path: Path) -> None:
    (ctx.workspace / "ln").symlink_to("real")
    paths.bind("ln/x", ctx)
    (ctx.workspace / "ln").unlink()
    (ctx.workspace / "ln").symlink_to(tmp_path)

    with pytest.raises(ToolError, match="leads to"):
        paths.resolve("ln/x", ctx)
    assert paths.bind("ln/x", ctx).real == tmp_path / "x"


SECRETS = [
    ".env", ".env.local", ".ENV", "prod.env", "key.pem", "id_rsa",
    "id_ed25519", "credentials", ".netrc", ".npmrc", "auth.json", ".pypirc",
    ".git-credentials", "x/.ssh/config", ".aws/config", ".config/gcloud/x", "/etc/shadow", "secrets.yaml",
    ".envrc", "ＩＤ_rsa",
]  # fmt: skip
OPEN = [
    "env.py",
    ".env.example",
    "id_map.py",
    "id_rsa.pub",
    "environment",
    "README.md",
    "auth.py",
    "src/credentials.py",
]


@pytest.mark.parametrize("letter", sorted(string.printable))
def test_a_plain_letter_is_folded_as_any_other(letter: str) -> None:
    assert folded(letter) == unicodedata.normalize("NFKC", letter).casefold()


@pytest.mark.parametrize("name", SECRETS)
def test_x19_place_of_secrets_is_known(name: str) -> None:
    assert is_secret(Path(name))


@pytest.mark.parametrize("name", OPEN)
def test_ordinary_file_is_no_secret(name: str) -> None:
    assert not is_secret(Path(name))


PROTECTED = [
    ".git/config", ".git", ".GIT/hooks/x", "sub/.git/config", ".agent-tui/config.toml", ".agents/x",
    ".claude/settings.json", ".mcp.json", ".envrc", ".vscode/tasks.json", ".idea/x", ".bashrc",
    ".zshrc", ".ｇit/config", ".gitmodules",
]  # fmt: skip


@pytest.mark.parametrize("name", PROTECTED)
def test_place_that_can_change_what_runs_is_known(name: str) -> None:
    assert is_protected(Path(name))


@pytest.mark.parametrize("name", [".gitignore", "git/x", ".github/workflows/x.yml", "mcp.json", "x.bashrc"])
def test_ordinary_place_is_not_protected(name: str) -> None:
    assert not is_protected(Path(name))


def test_workspace_below_a_protected_name_is_not_all_protected(tmp_path: Path) -> None:
    (tmp_path / ".claude/proj").mkdir(parents=True)
    ctx = make_context(tmp_path / ".claude/proj")

    assert paths.write_permission(paths.resolve("a.txt", ctx)).risk is Risk.MEDIUM


def test_own_folders_follow_the_environment(
    ctx: ToolContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))

    with pytest.raises(ToolError):
        paths.resolve(os.fspath(tmp_path / "conf/agent-tui/config.toml"), ctx)

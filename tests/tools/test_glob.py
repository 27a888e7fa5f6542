import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import PermissionKind, Risk
from agent_tui.protocol.tools import ToolResult
from tests.support.tool_world import ToolWorld, make_world, path_without_rg

ENGINES = [
    pytest.param("rg", marks=pytest.mark.skipif(not shutil.which("rg"), reason="rg is not installed")),
    "plain",
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setenv("PATH", path_without_rg(tmp_path))
    return request.param


@pytest.fixture
def world(workspace: Path, engine: str) -> ToolWorld:
    return make_world(workspace)


@pytest.fixture
def plain_world(workspace: Path) -> ToolWorld:
    return make_world(workspace)


def found(result: ToolResult) -> list[str]:
    assert not result.is_error, result.output
    return sorted(
        line for line in result.output.split("\n") if line and not line.startswith(("(", "No files"))
    )


async def names(world: ToolWorld, pattern: str, path: str = ".") -> list[str]:
    return found(await world.run("glob", pattern=pattern, path=path))


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("2026/07/26.md", "r", ["r/2026/07/26.md"]),
        ("src/lib/*.ts", "r", ["r/src/lib/s.ts"]),
        ("./src/**/*.ts", "r", ["r/src/lib/s.ts"]),
        ("**/*.ts", ".", ["r/src/lib/s.ts", "top.ts"]),
        ("r/src/lib/", ".", ["r/src/lib/s.ts"]),
        ("r/src/lib", ".", ["r/src/lib/s.ts"]),
        ("**", ".", ["r/2026/07/26.md", "r/inbox.md", "r/src/lib/s.ts", "top.ts"]),
        ("r/**/inbox.md", ".", ["r/inbox.md"]),
        ("**/r/**/s.ts", ".", ["r/src/lib/s.ts"]),
        ("*", ".", ["top.ts"]),
        ("*.ts", ".", ["top.ts"]),
        ("*/*/*/*.ts", ".", ["r/src/lib/s.ts"]),
        ("r/202?/0[1-9]/*", ".", ["r/2026/07/26.md"]),
        ("", ".", ["r/2026/07/26.md", "r/inbox.md", "r/src/lib/s.ts", "top.ts"]),
    ],
)
async def test_se_06_every_form_of_pattern_is_relative_to_path(
    world: ToolWorld, pattern: str, path: str, expected: list[str]
) -> None:
    for name in ("r/2026/07/26.md", "r/src/lib/s.ts", "r/inbox.md", "top.ts"):
        world.put(name)

    assert await names(world, pattern, path) == expected


async def test_se_06_an_absolute_pattern_finds_the_same(world: ToolWorld) -> None:
    world.put("r/inbox.md")

    assert await names(world, f"{world.root}/r/*.md") == ["r/inbox.md"]
    assert await names(world, f"{world.root}/**/*.md") == ["r/inbox.md"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.{ts,tsx}", ["a.ts", "b.tsx", "d{x}.ts"]),
        ("{a,b}.{ts,tsx}", ["a.ts", "b.tsx"]),
        ("*.{t{s,sx},js}", ["a.ts", "b.tsx", "c.js", "d{x}.ts"]),
        ("*.{ts", []),
        ("d{x}.ts", ["d{x}.ts"]),
        ("d{x}.*", ["d{x}.ts"]),
        ("[!a]*.ts", ["d{x}.ts"]),
        ("[^a]*.ts", ["d{x}.ts"]),
        ("[ab].*", ["a.ts", "b.tsx"]),
        ("[[]x", []),
        ("{a,}.ts", ["a.ts"]),
        ("{c.js,sub/*.py}", ["c.js", "sub/x.py"]),
    ],
)
async def test_se_07_braces_and_classes(world: ToolWorld, pattern: str, expected: list[str]) -> None:
    for name in ("a.ts", "b.tsx", "c.js", "d{x}.ts", "sub/x.py"):
        world.put(name)

    assert await names(world, pattern) == expected


@pytest.mark.parametrize("pattern", ["f{1..3}.txt", "@(a|b).txt", "!(a|b)", "{a,b}" * 11])
async def test_se_07_an_unsupported_form_is_an_error_and_not_an_empty_answer(
    plain_world: ToolWorld, pattern: str
) -> None:
    result = await plain_world.run("glob", pattern=pattern)

    assert result.is_error
    assert "{" in result.output or "braces" in result.output


async def test_se_05_a_pattern_may_begin_with_a_dash(world: ToolWorld) -> None:
    world.put("-rf")
    world.put("--pre=x")

    assert await names(world, "-*") == ["--pre=x", "-rf"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/(app)/[id]/index.tsx", ["src/(app)/[id]/index.tsx"]),
        ("src/(app)/[id]/*.tsx", ["src/(app)/[id]/index.tsx"]),
        ("**/[[]id]/*.tsx", ["src/(app)/[id]/index.tsx"]),
        (r"src/\(app\)/\[id\]/*.tsx", ["src/(app)/[id]/index.tsx"]),
        ("a b*?.txt", ["a b*?.txt"]),
        ("a b*", ["a b*?.txt", "a bc.txt"]),
    ],
)
async def test_se_08_an_exact_path_wins_over_the_pattern(
    world: ToolWorld, pattern: str, expected: list[str]
) -> None:
    for name in ("src/(app)/[id]/index.tsx", "a b*?.txt", "a bc.txt"):
        world.put(name)

    assert await names(world, pattern) == expected


async def test_se_03_links_are_not_followed_and_end_nothing(world: ToolWorld) -> None:
    world.put("f.txt", "hit")
    for name in ("1", "2"):
        (world.root / name).mkdir()
        (world.root / name / "loop").symlink_to("../")
    (world.root / "self").symlink_to("self")
    (world.root / "dangling").symlink_to("nowhere")
    (world.root / "out").symlink_to("/etc")

    assert await names(world, "**/*.txt") == ["f.txt"]
    assert await names(world, "**") == ["f.txt"]


async def test_item_50_h38_hidden_is_left_out_relative_to_the_base_only(world: ToolWorld) -> None:
    world.put(".github/workflows/ci.yml")
    world.put(".github/.secret/x.yml")
    world.put("a/.b/c.yml")
    world.put("a/c.yml")

    assert await names(world, "**/*.yml") == ["a/c.yml"]
    assert await names(world, "**/*.yml", ".github") == [".github/workflows/ci.yml"]
    assert await names(world, ".github/**/*.yml") == [".github/workflows/ci.yml"]


async def test_item_50_a104_newest_first_ties_by_path_sorted_before_the_cut(world: ToolWorld) -> None:
    for number in range(150):
        path = world.put(f"d{number % 7}/f{number:03}.txt")
        os.utime(path, ns=(0, (number // 2) * 1_000_000_000))

    result = await world.run("glob", pattern="**/*.txt")

    lines = result.output.split("\n")
    expected = sorted(range(150), key=lambda n: (-(n // 2), f"d{n % 7}/f{n:03}.txt"))
    assert lines[:100] == [f"d{n % 7}/f{n:03}.txt" for n in expected[:100]]
    assert lines[-1].startswith("(showing 100 of 150")


async def test_h39_a_hundred_results_carry_no_note(world: ToolWorld) -> None:
    for number in range(100):
        world.put(f"f{number}.txt")

    assert "showing" not in (await world.run("glob", pattern="*.txt")).output


async def test_h39_nothing_found_is_success_and_a_missing_base_an_error(world: ToolWorld) -> None:
    nothing = await world.run("glob", pattern="*.nope")
    missing = await world.run("glob", pattern="*", path="nope")

    assert (nothing.is_error, nothing.output.startswith("No files matched '*.nope'")) == (False, True)
    assert missing.is_error


@pytest.mark.parametrize("pattern", ["../*", "a/../*", "**/.."])
async def test_h39_parents_in_the_pattern_are_refused(plain_world: ToolWorld, pattern: str) -> None:
    result = await plain_world.run("glob", pattern=pattern)

    assert result.is_error
    assert "'..'" in result.output


async def test_se_04_ignored_files_are_those_of_git(world: ToolWorld) -> None:
    git(world.root, "init", "-q")
    world.put(".gitignore", "_*.*\nlogs/\n!keep.log\n/top.txt\n*.tmp\n")
    for name in ("src/_foo/bar.js", "sub/top.txt", "top.txt", "x.tmp", "logs/keep.log", "_a.b"):
        world.put(name)

    expected = git(world.root, "ls-files", "-co", "--exclude-standard").split()

    assert await names(world, "**") == sorted(set(expected) - {".gitignore"})


async def test_ignore_files_count_without_git_too(world: ToolWorld) -> None:
    world.put(".gitignore", "build/\n*.o\n")
    world.put("build/x.c")
    world.put("src/.gitignore", "/gen.c\n")
    for name in ("src/a.c", "src/a.o", "src/gen.c", "src/deep/gen.c"):
        world.put(name)

    assert await names(world, "**") == ["src/a.c", "src/deep/gen.c"]
    assert await names(world, "**", "src") == ["src/a.c", "src/deep/gen.c"]


async def test_ignore_files_above_a_workspace_without_git_do_not_count(world: ToolWorld) -> None:
    (world.root.parent / ".gitignore").write_text("*\n")
    world.put("a.txt")

    assert await names(world, "*") == ["a.txt"]


async def test_excludes_of_user_and_work_tree_count(world: ToolWorld) -> None:
    git(world.root, "init", "-q")
    home = Path(os.environ["HOME"])
    (home / "excludes").write_text("*.mine\n/anchored\n")
    (home / ".gitconfig").write_text("[user]\n\tname = x\n[core]\n\texcludesFile = ~/excludes\n")
    (world.root / ".git/info").mkdir(exist_ok=True)
    (world.root / ".git/info/exclude").write_text("*.local\n")
    for name in ("a.mine", "a.local", "anchored", "sub/anchored", "a.txt", "sub/b.mine"):
        world.put(name)

    expected = git(world.root, "ls-files", "-co", "--exclude-standard").split()

    assert await names(world, "**") == sorted(expected) == ["a.txt", "sub/anchored"]
    assert await names(world, "**", "sub") == ["sub/anchored"]


async def test_a_linked_work_tree_uses_the_excludes_of_its_repository(
    world: ToolWorld, tmp_path: Path
) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    (main / ".git/info/exclude").write_text("*.local\n")
    world.root.rmdir()
    git(main, "worktree", "add", "-q", str(world.root))
    world.put("a.local")
    world.put("a.txt")

    assert await names(world, "*") == ["a.txt"]


async def test_a_repository_inside_has_rules_of_its_own(world: ToolWorld) -> None:
    git(world.root, "init", "-q")
    world.put(".gitignore", "*.log\n")
    (world.root / "inner").mkdir()
    git(world.root / "inner", "init", "-q")
    world.put("inner/a.log")
    world.put("a.log")

    assert await names(world, "**/*.log") == ["inner/a.log"]


async def test_names_of_any_bytes(world: ToolWorld) -> None:
    world.put("new\nline.txt")
    world.put("ümläut 汉.txt")
    (world.root / os.fsdecode(b"bad\xff.txt")).touch()

    assert await names(world, "*.txt") == sorted(["new\\nline.txt", "ümläut 汉.txt", "bad\ufffd.txt"])


async def test_unreadable_folders_do_not_abort(world: ToolWorld) -> None:
    world.put("a/x.txt")
    locked = world.root / "locked"
    locked.mkdir(mode=0)

    assert await names(world, "**/*.txt") == ["a/x.txt"]


async def test_outside_needs_a_permission_that_names_the_folder(
    plain_world: ToolWorld, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()

    (permission,) = plain_world.permissions("glob", pattern="*", path=str(other))
    (inside,) = plain_world.permissions("glob", pattern=f"{other}/sub/*.py")

    assert (permission.kind, permission.target, permission.risk) == (
        PermissionKind.READ,
        str(other),
        Risk.MEDIUM,
    )
    assert inside.target.startswith(str(other))


async def test_panel_is_a_tree_with_the_count(plain_world: ToolWorld) -> None:
    for name in ("a/b/c.py", "a/b/d.py", "e.py"):
        plain_world.put(name)
    result = await plain_world.run("glob", pattern="**/*.py")

    shown = plain_world.shown("glob", result, pattern="**/*.py")

    assert shown.content == "a/b/\n  c.py\n  d.py\ne.py"
    assert shown.summary == "3 files"
    assert plain_world.title("glob", pattern="**/*.py") == "**/*.py"
    assert plain_world.summary("glob", result, pattern="**/*.py") == "[Glob: **/*.py (3 files)]"

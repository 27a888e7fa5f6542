import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_tui.ui.files import FileIndex, walk
from agent_tui.ui.git_index import tracked_paths
from tests.support.patience import PATIENCE_S


@pytest.fixture
def tree(workspace: Path) -> Path:
    for name in (
        "src/app.py",
        "src/deep/er/model.py",
        "docs/guide.md",
        "build/out.o",
        "node_modules/x/i.js",
        ".git/HEAD",
    ):
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (workspace / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (workspace / "a.log").write_text("")
    (workspace / "keep.log").write_text("")
    (workspace / "src" / ".gitignore").write_text("/deep/er\n")
    return workspace


def test_the_walk_obeys_ignore_files_and_lists_shallow_paths_first(tree: Path) -> None:
    assert walk(tree) == [
        ".gitignore",
        "docs/",
        "keep.log",
        "src/",
        "docs/guide.md",
        "src/.gitignore",
        "src/app.py",
        "src/deep/",
    ]


def test_the_walk_stops_at_its_limit(tree: Path) -> None:
    assert len(walk(tree, limit=3)) == 3


def test_tu_20_the_walk_ends_in_time_and_skips_what_cannot_be_read(tree: Path) -> None:
    assert walk(tree, limit_s=-1.0) == []
    assert walk(tree / "gone") == []


def test_links_to_folders_are_not_followed(tree: Path) -> None:
    os.symlink(tree, tree / "loop")

    assert "loop" in walk(tree)
    assert not any(path.startswith("loop/") for path in walk(tree))


async def test_the_index_is_filled_beside_the_event_loop_and_ranks_names_first(tree: Path) -> None:
    index = FileIndex(tree)
    ready = asyncio.Event()

    index.refresh(ready.set)
    await asyncio.wait_for(ready.wait(), PATIENCE_S)

    found = [match.item for match in await index.search("app")]
    assert found[0] == "src/app.py"
    assert [match.item for match in await index.search("", limit=2)] == [".gitignore", "docs/"]


def test_lines_of_ignore_files_that_mean_nothing_are_passed_over(tree: Path) -> None:
    (tree / ".gitignore").write_text("!\n\\\n[z-a]\n[[x]\nbuild/\n")
    (tree / "docs" / ".gitignore").write_text("!\n/guide.md\n")

    found = walk(tree)

    assert "src/app.py" in found
    assert not {"build/", "docs/guide.md"} & set(found)


async def test_a_walk_that_fails_is_logged_and_the_next_one_fills_the_list(tree: Path) -> None:
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context["exception"]))
    fault = ZeroDivisionError()

    def fails_once(root: Path) -> list[str]:
        if not logged:
            raise fault
        return walk(root)

    index = FileIndex(tree, fails_once)
    for _ in range(2):
        ready = asyncio.Event()
        index.refresh(ready.set)
        await asyncio.wait_for(ready.wait(), PATIENCE_S)
        index._walked_at = 0.0  # 20 s later

    assert logged == [fault]
    assert "src/app.py" in index.paths


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_what_git_tracks_is_listed_although_it_is_ignored(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    git(tree, "init", "-q")
    git(tree, "add", "-f", "a.log", "src/app.py")
    (tree / ".git" / "info" / "exclude").write_text("docs/\n")

    found = walk(tree)

    assert "a.log" in found
    assert "docs/" not in found
    assert found.count("src/app.py") == 1
    assert tracked_paths(tree / "src") == ["app.py"]


def test_an_index_that_is_broken_gives_what_can_be_read(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    git(tree, "init", "-q")
    git(tree, "add", "-f", "a.log", "src/app.py")
    index = tree / ".git" / "index"
    whole = index.read_bytes()

    for size in (0, 5, 13, 80, len(whole) // 2):
        index.write_bytes(whole[:size])
        assert len(tracked_paths(tree)) <= 2
    for version in (1, 5):
        index.write_bytes(b"DIRC" + version.to_bytes(4, "big") + whole[8:])
        assert tracked_paths(tree) == []


def test_an_index_of_version_4_gives_the_names_that_git_gives(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    git(tree, "init", "-q")
    deep = "d" * 150  # the next name drops more of it than 7 bits can say
    names = [f"pack/{deep}/{deep}.log", "pack/e.log", "pack/e.log.log", "pack/ü ber.log", "z.log"]
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("")
    git(tree, "add", "-f", *names, "src/app.py")
    git(tree, "add", "-N", "-f", "a.log")  # its entry has a longer head
    git(tree, "update-index", "--index-version", "4")
    index = tree / ".git" / "index"
    whole = index.read_bytes()
    assert whole[4:8] == (4).to_bytes(4, "big")

    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout.split("\0")[:-1]

    assert tracked_paths(tree) == listed
    assert tracked_paths(tree / "pack")[0] == f"{deep}/{deep}.log"
    assert "pack/e.log" in walk(tree)
    for size in range(0, len(whole), 7):
        index.write_bytes(whole[:size])
        assert tracked_paths(tree) == listed[: len(tracked_paths(tree))]

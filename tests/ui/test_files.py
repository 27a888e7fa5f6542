import asyncio
import os
from pathlib import Path

import pytest

from agent_tui.ui.files import FileIndex, walk


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
    await asyncio.wait_for(ready.wait(), 5)

    found = [match.item for match in await index.search("app")]
    assert found[0] == "src/app.py"
    assert [match.item for match in await index.search("", limit=2)] == [".gitignore", "docs/"]

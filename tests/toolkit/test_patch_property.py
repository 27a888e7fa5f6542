import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.changes import commit
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.patching import parse, place, work_out
from agent_tui.toolkit.testing import make_context
from agent_tui.toolkit.tracker import FileTracker

EXAMPLES = int(os.environ.get("AGENT_TUI_TEST_EXAMPLES", "20"))
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 20, suppress_health_check=list(HealthCheck)
)
GIT = ("git", "-c", "core.autocrlf=false", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false")

TRICKY = (
    *(
        "--- a/x",
        "+++ b/x",
        "-- ",
        "--",
        "++ x",
        "@@ -1 +1 @@",
        "@@",
        "diff --git a/x b/x",
        "\\ No newline at end of file",
    ),
    *(
        "*** Begin Patch",
        "*** End Patch",
        " ",
        "",
        "\t",
        "x  ",
        "  x",
        "a\rb",
        "form\x0cfeed",
        "line\u2028sep",
        "\x85",
        "ü",
        "日本",
    ),
    *("-", "+", "index 123", "rename from a", "\ufeffbom"),
)
LINES = st.one_of(st.sampled_from(TRICKY), st.sampled_from([f"line {i}" for i in range(12)]))
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.tuples(LINES, ENDS), max_size=25))
    text = "".join(line + end for line, end in lines)
    return text.rstrip("\r\n") if draw(st.booleans()) else text


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    lines = text.split("\n")
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(lines)))
        end = draw(st.integers(at, min(len(lines), at + 3)))
        lines[at:end] = draw(st.lists(LINES, max_size=3))
    return "\n".join(lines)


NAMES = st.sampled_from(
    [
        "a.txt",
        "b c.txt",
        "sub/d.txt",
        "ü.txt",
        "tab\there",
        'quo"te',
        "back\\slash",
        "b/b.txt",
        "a/a b",
        "-dash",
        " lead",
    ]
)


@dataclass(frozen=True)
class Tree:
    files: Mapping[str, tuple[str, bool]]  # name -> content, executable

    def write(self, root: Path) -> None:
        for name, (text, executable) in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            path.chmod(0o755 if executable else 0o644)

    @classmethod
    def read(cls, root: Path) -> "Tree":
        found = [path for path in sorted(root.rglob("*")) if path.is_file() and ".git" not in path.parts]
        return cls(
            {
                path.relative_to(root).as_posix(): (
                    path.read_bytes().decode(),
                    bool(path.stat().st_mode & 0o100),
                )
                for path in found
            }
        )


@st.composite
def tree_pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    old = {name: (draw(texts()), draw(st.booleans())) for name in names}
    new: dict[str, tuple[str, bool]] = {}
    for name, (text, executable) in old.items():
        fate = draw(st.sampled_from(["keep", "edit", "edit", "edit", "mode", "rename", "delete"]))
        if fate == "delete":
            continue
        target = f"moved/{name}" if fate == "rename" else name
        body = draw(changed(text)) if fate in ("edit", "rename") else text
        new[target] = (body, executable != (fate == "mode"))
    if draw(st.booleans()):
        new["new file.txt"] = (draw(texts()), draw(st.booleans()))
    return Tree(old), Tree(new)


def run(*argv: str, cwd: Path) -> bytes:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def git_diff(old: Tree, new: Tree, folder: Path, options: Sequence[str]) -> str:
    folder.mkdir()
    run("git", "init", "-q", ".", cwd=folder)
    old.write(folder)
    run(*GIT, "add", "-A", cwd=folder)
    run(*GIT, "commit", "-q", "--allow-empty", "-m", "x", cwd=folder)
    for path in [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]:
        path.unlink()
    new.write(folder)
    run(*GIT, "add", "-A", cwd=folder)
    return run(*GIT, "diff", "--cached", "--text", *options, cwd=folder).decode()


def context_for(root: Path) -> ToolContext:
    ctx = make_context(root)
    ctx.files = FileTracker(trusting=True)
    return ctx


def apply(patch: str, root: Path) -> None:
    ctx = context_for(root)
    commit(work_out(place(parse(patch), ctx), ctx, planning=False), ctx)


@SETTINGS
@given(
    tree_pairs(),
    st.integers(0, 10),
    st.sampled_from([["-M"], ["--no-renames"], ["-M", "--no-prefix"], ["-C"]]),
)
def test_git_diff_applies_exactly(pair: tuple[Tree, Tree], context: int, options: list[str]) -> None:
    old, new = pair
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        patch = git_diff(old, new, folder / "repo", [f"-U{context}", *options])
        assume(patch)
        root = folder / "ws"
        root.mkdir()
        old.write(root)

        apply(patch, root)

        assert Tree.read(root) == new


@SETTINGS
@given(st.data(), st.integers(0, 10))
def test_plain_diff_applies_exactly(data: st.DataObject, context: int) -> None:
    old = data.draw(texts())
    new = data.draw(changed(old))
    assume(old != new and old and new)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "ws"
        (root / "new").mkdir(parents=True)
        (root / "f.txt").write_bytes(old.encode())
        (root / "new" / "f.txt").write_bytes(new.encode())
        patch = run("diff", "-a", f"-U{context}", "f.txt", "new/f.txt", cwd=root).decode()
        (root / "new" / "f.txt").unlink()

        apply(patch, root)

        assert (root / "f.txt").read_bytes() == new.encode()


@SETTINGS
@given(st.data())
def test_patch_that_fails_changes_nothing(data: st.DataObject) -> None:
    old = Tree({"a.txt": (data.draw(texts()), False), "b.txt": ("one\ntwo\n", False)})
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n+added\n no such line anywhere\n"
    good = "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "ws"
        root.mkdir()
        old.write(root)

        for text in (good + patch, patch + good):
            with pytest.raises(ToolError, match="Nothing was changed"):
                apply(text, root)

        assert Tree.read(root) == old

"""Says which version this is, and of which commit where that is known."""

from importlib import metadata
from pathlib import Path
from typing import cast

from agent_tui import __version__
from agent_tui.protocol.json_text import parse_json

COMMIT_FILE = "_commit.txt"
"""Beside the package in a wheel: the commit that it was built from. A checkout has none."""
_SHORT = 9


def version_line() -> str:
    """Give `agent-tui VERSION (COMMIT)`; without the commit where nothing names it. Runs no program."""
    commit = checkout_commit(Path(__file__).parents[2]) or _built() or _installed()
    return f"agent-tui {__version__}{f' ({commit[:_SHORT]})' if commit else ''}"


def checkout_commit(root: Path) -> str:
    """Read the commit that the checkout `root` stands at: 40 or 64 hex digits, "" when it is no checkout of ours."""
    git = root / ".git"
    if not (root / "pyproject.toml").is_file():
        return ""
    try:
        if git.is_file():  # a worktree
            git = (root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        return _of_branch(git, head.removeprefix("ref: "))
    except (OSError, ValueError):
        return ""


def _of_branch(git: Path, name: str) -> str:
    """Raises OSError."""
    common = git / "commondir"
    home = (git / common.read_text(encoding="utf-8").strip()).resolve() if common.is_file() else git
    for place in (git, home):
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8").strip()
    packed = (home / "packed-refs").read_text(encoding="utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _built() -> str:
    """Read the commit that was written into the wheel."""
    try:
        return (Path(__file__).parents[1] / COMMIT_FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _installed() -> str:
    """Read the commit that an installer was given, as `pipx install git+https://...` does (PEP 610)."""
    try:
        text = metadata.distribution("agent-tui").read_text("direct_url.json")
        found: object = parse_json(text or "{}")
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return ""
    info = cast("dict[str, object]", found).get("vcs_info") if isinstance(found, dict) else None
    commit = cast("dict[str, object]", info).get("commit_id") if isinstance(info, dict) else None
    return commit if isinstance(commit, str) else ""

"""Which branch a workspace is on."""

from pathlib import Path


def git_branch(workspace: Path) -> str:
    """Give the branch by reading `.git/HEAD`; "" when there is none. Runs no program."""
    for folder in (workspace, *workspace.parents):
        head = folder / ".git" / "HEAD"
        try:
            text = head.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: ") else text[:8]
    return ""

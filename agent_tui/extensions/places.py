"""Where texts for the model are looked for: in the project up to its git root, then in the user's folders."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FAMILIES = (".agents", ".agent-tui", ".claude")


@dataclass(frozen=True)
class Folder:
    """A folder that may hold skills or agents. What a project's files lead to must lie below `root`."""

    path: Path
    origin: str
    root: Path | None = None


def folders(kind: str, *, workspace: Path, home: Path, config: Path, project: bool = True) -> list[Folder]:
    """Give the folders called `kind` ("skills", "agents"), the nearest first; they need not exist.

    The user's are those of agent-tui's configuration and of the three families at home. `project` False leaves
    out what lies in the project.
    """
    found: list[Folder] = []
    if project:
        places = list(_up_to_git_root(workspace))
        found = [
            Folder(place / family / kind, "project", places[-1]) for place in places for family in FAMILIES
        ]
    found.append(Folder(config / kind, "user"))
    found += [Folder(home / family / kind, "user") for family in FAMILIES]
    return list({folder.path: folder for folder in reversed(found)}.values())[::-1]


def _up_to_git_root(workspace: Path) -> Iterator[Path]:
    """Give the workspace and what is above it as far as its git root; without one the workspace alone."""
    above = (workspace, *workspace.parents)
    root = next((place for place in above if (place / ".git").exists()), workspace)
    for place in above:
        yield place
        if place == root:
            return

"""Says what a diff does to whole files: makes, removes, moves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual.content import Content

from agent_tui.ui.render.safe import clean

_START = "diff --git "


@dataclass
class _File:
    name: str
    verb: str = "Changes"
    added: int = 0
    removed: int = 0

    @property
    def text(self) -> str:
        match self.verb:
            case "New file":
                return f"New file {self.name}: {_lines(self.added)}"
            case "Deletes":
                return (
                    f"Deletes {self.name}: {_lines(self.removed)} {'is' if self.removed == 1 else 'are'} lost"
                )
            case _:
                return f"{self.verb} {self.name}: +{self.added} -{self.removed}"


def file_lines(diff: str) -> list[Content]:
    """Give a line for each file that is made, removed or moved; of several files one for every one."""
    files = list(_files(diff))
    if len(files) == 1 and files[0].verb == "Changes":
        return []
    return [
        Content.styled(clean(one.text), "bold $error" if one.verb == "Deletes" else "$accent")
        for one in files
    ]


def _files(diff: str) -> Iterator[_File]:
    """Read a git-style diff; lines of a hunk always begin with a blank, a sign, `@` or a backslash."""
    here: _File | None = None
    in_hunk = False
    for line in diff.split("\n"):
        if line.startswith(_START):
            if here is not None:
                yield here
            here, in_hunk = _File(line.partition(" b/")[2] or line.rpartition(" ")[2]), False
        elif here is None:
            continue
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk:
            here.added += line.startswith("+")
            here.removed += line.startswith("-")
        else:
            _read_header(here, line)
    if here is not None:
        yield here


def _read_header(here: _File, line: str) -> None:
    if line.startswith("new file"):
        here.verb = "New file"
    elif line.startswith("deleted file"):
        here.verb = "Deletes"
    elif line.startswith("rename from "):
        here.verb = "Moves"
        here.name = f"{line.removeprefix('rename from ')} → "
    elif line.startswith("rename to "):
        here.name += line.removeprefix("rename to ")


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"

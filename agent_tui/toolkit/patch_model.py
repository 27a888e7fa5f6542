"""A patch of either format as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Sign = Literal[" ", "-", "+"]
FileAction = Literal["update", "add", "delete", "copy"]


@dataclass(frozen=True)
class PatchLine:
    """One line of a hunk. `text` has its line end; none when the patch says that the file ends there without one."""

    sign: Sign
    text: str


@dataclass(frozen=True)
class Hunk:
    """Lines to find and what becomes of them.

    `old_start` is the 1-based line of the header, None in the envelope format; there `anchors` are lines that stand
    somewhere above, and `at_end` says that the lines are the last of the file.
    """

    lines: tuple[PatchLine, ...]
    old_start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old_lines(self) -> list[str]:
        """Give the lines that must be there."""
        return [line.text for line in self.lines if line.sign != "+"]

    @property
    def old_index(self) -> int:
        """Give the 0-based place the header names; lines put between two others stand after the one it names."""
        start = self.old_start or 0
        return start if not self.old_lines else max(0, start - 1)


@dataclass(frozen=True)
class FilePatch:
    """What a patch does to one file.

    `names` are the spellings the file may have, the likeliest first. `moved_to` is set for a move and for a copy. `executable`
    is None where the patch does not speak of the mode. `is_exact` says that a program made the patch, so its line ends
    are the file's own. `keeps_final_newline` says that a missing final newline stays missing unless said otherwise.
    """

    action: FileAction
    names: tuple[str, ...]
    hunks: tuple[Hunk, ...] = ()
    moved_to: str = ""
    executable: bool | None = None
    is_exact: bool = False
    keeps_final_newline: bool = True

    @property
    def name(self) -> str:
        """Give the likeliest name."""
        return self.names[0]


def added_text(hunks: Sequence[Hunk]) -> str:
    """Give the content of a file that is made of added lines only."""
    return "".join(line.text for hunk in hunks for line in hunk.lines if line.sign != "-")

"""Keeps the directories in which a command of a list may start, where `&&` and `||` may skip a `cd`."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

_MOST = 4


@dataclass(frozen=True, slots=True)
class Directories:
    """Where the shell may be after a command that succeeded (`done`) and after one that failed (`failed`).

    `false && cd src; cat ../x` reads the x beside the project: what follows is judged in every directory that is
    possible. "" stands for one that is not known.
    """

    done: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def possible(self) -> tuple[str, ...]:
        """All of them, whatever the command came to."""
        return _few((*self.done, *self.failed))

    def before(self, joined_by: str) -> tuple[str, ...]:
        """Give where a command starts that `joined_by` joins to the one before. There is always one."""
        return {"&&": self.done, "||": self.failed}.get(joined_by) or self.possible

    def after(self, joined_by: str, moves: Iterable[tuple[str, str]]) -> "Directories":
        """Give what holds after that command: for each directory it may start in, that and where it goes."""
        moves = tuple(moves)
        done = tuple(to for _, to in moves)
        failed = tuple(start for start, to in moves if not _cannot_fail(start, to))
        if joined_by == "&&":
            return Directories(_few(done), _few((*self.failed, *failed)))
        if joined_by == "||":
            return Directories(_few((*self.done, *done)), _few(failed))
        return Directories(_few(done), _few(failed))


def _cannot_fail(start: str, to: str) -> bool:
    """Tell whether a `cd` surely succeeds. One to an unknown directory has no second outcome worth judging."""
    return to == "" or (to != start and os.path.isdir(to) and os.access(to, os.X_OK))


def _few(directories: tuple[str, ...]) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(directories))
    return unique if len(unique) <= _MOST else ("",)

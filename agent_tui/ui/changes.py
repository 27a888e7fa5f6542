"""What the interface needs in order to show what changed in the files, and to take parts of it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Scope = Literal["turn", "session", "branch"]
SCOPES: tuple[Scope, ...] = ("turn", "session", "branch")


@dataclass(frozen=True)
class ChangeView:
    """How a file would change, or did. `diff` is a git-style diff; `conflict` says why it is not done unasked."""

    path: str
    diff: str
    added: int = 0
    removed: int = 0
    conflict: str = ""


@dataclass(frozen=True)
class Comparison:
    """How the files differ from what they were. `since` says since when, such as "this turn" or "main (1a2b3c4)"."""

    since: str
    changes: Sequence[ChangeView]

    @property
    def title(self) -> str:
        """Say what is compared, as a headline."""
        return f"Changes {'of' if self.since.startswith('this ') else 'since'} {self.since}"

    @property
    def nothing(self) -> str:
        """Say that no file differs, and where there may be more to see."""
        more = " /diff session looks further back." if self.since == "this turn" else ""
        return f"No file differs from what it was before {self.since}.{more}"


@dataclass(frozen=True)
class Reverted:
    """What taking a part back came to. With `asks`, a diff of what is not the agent's alone, nothing was done yet."""

    said: str
    done: bool = False
    asks: str = ""


class Changes(Protocol):
    """What changed in the files of the open session. All methods may raise AgentTuiError; then nothing was changed."""

    async def compare(self, scope: Scope) -> Comparison:
        """Compare the files now with those before the last turn, the session's first change, or the branch."""
        ...

    async def revert(self, path: str, hunk: int | None = None, *, sure: bool = False) -> Reverted:
        """Make a file, or one hunk of it (0-based), what it was in the last comparison.

        A file that changed since that comparison is left as it is; what the person changed needs `sure`.
        """
        ...

    async def undo_revert(self) -> str:
        """Take the last `revert` back; give a sentence."""
        ...

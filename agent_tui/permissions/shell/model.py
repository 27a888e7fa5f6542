"""What the analysis of a command says (plain dataclasses: `permissions check` must start fast)."""

from dataclasses import dataclass

from agent_tui.permissions.rules import Spelling
from agent_tui.protocol.permissions import PermissionKind, Risk


@dataclass(frozen=True, slots=True)
class Touch:
    """Something a command touches beyond reading the project: a path, a directory outside, a host.

    `target` is what a person is asked for: the directory of a write outside, else the path; a host, `raw:HOST` when
    the host's own network is needed, `*` when the host is not known. `paths` are the spellings of the exact path
    (as named, where it leads). `outside` says the path is not in the project. `lasting` says a rule may allow it;
    `sealed` is why not even a mode may, "" when one may.
    """

    kind: PermissionKind
    target: str
    reason: str
    paths: tuple[str, ...] = ()
    outside: bool = False
    risk: Risk = Risk.MEDIUM
    lasting: bool = True
    is_folder: bool = False
    sealed: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command.

    `argv` are its words as far as they are known; `source` its text. `safe` says that it only reads the project;
    `needs_strong` that this holds only in a strong sandbox (git reads its configuration). `lasting` says a rule may
    allow it, `sealed` is why not even a mode may. `pattern` is what "always" would store, "" for nothing. See
    `Subject` for `spellings`, `allow_as` and `exact_only`.
    """

    argv: tuple[str, ...]
    source: str
    safe: bool
    why: str
    risk: Risk = Risk.MEDIUM
    lasting: bool = True
    sealed: str = ""
    needs_strong: bool = False
    exact_only: bool = False
    pattern: str = ""
    spellings: tuple[Spelling, ...] = ()
    allow_as: tuple[Spelling, ...] = ()
    mentions: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """A whole command. `unclear` holds the reasons why it cannot be judged by its parts; such a command always
    asks and offers no lasting answer, but its parts are still held against deny rules."""

    command: str
    parts: tuple[Part, ...]
    touches: tuple[Touch, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether each part can be judged by itself."""
        return not self.unclear

"""The simple commands of a script, whichever parser found them."""

from dataclasses import dataclass, field

from agent_tui.permissions.shell.words import Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection. `target` is None for a here-document, whose text is `body`.

    `op` is the operator without the descriptor number; `fd` that number as written, "" for none.
    """

    op: str
    target: Word | None
    fd: str = ""
    body: str = ""

    @property
    def duplicates(self) -> bool:
        """Whether it only joins or closes descriptors (`2>&1`, `>&-`)."""
        text = self.target.raw if self.target else ""
        return self.op in (">&", "<&") and (
            text.isdigit() or text == "-" or (text[:-1].isdigit() and text[-1:] == "-")
        )


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command as written: its words, redirections, assignments in front and source text."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    source: str
    assigns: tuple[tuple[str, Word], ...] = ()

    @property
    def redirects_input(self) -> bool:
        """Whether its input or output is redirected to something but a descriptor."""
        return any(not redirect.duplicates and redirect.fd != "2" for redirect in self.redirects)


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline and what joins it to the one before: "", ";", "&&" or "||".

    `scope` names the subshell it runs in, outermost first; () is the shell itself.
    """

    stages: tuple[Simple, ...]
    joined_by: str = ""
    scope: tuple[int, ...] = ()


@dataclass
class Script:
    """Steps in order; `reasons` say why the script cannot be judged by its parts."""

    steps: list[Step] = field(default_factory=list[Step])
    reasons: list[str] = field(default_factory=list[str])

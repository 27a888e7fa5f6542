"""What the interface needs of the MCP servers: how each is, what it offers, signing in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent_tui.protocol.tools import TurnResult


@dataclass(frozen=True)
class ChangedView:
    """A tool that is described differently than when it was accepted; `diff` is in unified form."""

    tool: str
    diff: str


@dataclass(frozen=True)
class ServerView:
    """One server. `state` is such as "ready" or "needs login", `detail` says why; `tools` are what may be called.

    `target` is what is started or asked, `origin` and `file` where it is described. `signs_in` says that it is asked
    over HTTP without a key of its own.
    """

    name: str
    state: str
    detail: str = ""
    title: str = ""
    version: str = ""
    target: str = ""
    origin: str = ""
    file: str = ""
    tools: tuple[str, ...] = ()
    changed: tuple[ChangedView, ...] = ()
    problems: tuple[str, ...] = ()
    signs_in: bool = False


@dataclass(frozen=True)
class ResourceView:
    """Something a server can be asked to read. `mention` is what stands behind the `@`: "server:uri".

    One that `is_template` has blanks in braces that the person fills in.
    """

    mention: str
    name: str = ""
    is_template: bool = False


@dataclass(frozen=True)
class PromptView:
    """A prompt of a server; `command` has no slash. `arguments` are (name, description, whether it is needed)."""

    server: str
    prompt: str
    command: str
    description: str = ""
    arguments: tuple[tuple[str, str, bool], ...] = ()

    @property
    def usage(self) -> str:
        """The arguments as a person reads them."""
        return " ".join(name if needed else f"[{name}]" for name, _, needed in self.arguments)


class ServerDesk(Protocol):
    """The MCP servers of this run. Nothing here blocks the event loop; sentences are for the person."""

    def watch(self, changed: Callable[[], None]) -> None:
        """Say what is called, on the loop, when a server's state or offer changed."""
        ...

    def troubles(self) -> Sequence[str]:
        """Say why servers are not there, each trouble once."""
        ...

    def servers(self) -> Sequence[ServerView]: ...

    def log(self, name: str) -> Sequence[str]:
        """Give the last lines of a server's log, oldest first; none for an unknown name."""
        ...

    def reconnect(self, name: str) -> str:
        """Start a server anew; give a sentence."""
        ...

    def enable(self, name: str, on: bool) -> str:
        """Switch a server on or off for this run; give a sentence."""
        ...

    async def accept(self, name: str) -> str:
        """Accept the changed tools of a server as they are now; give a sentence."""
        ...

    async def reload(self) -> str:
        """Read the settings anew: start what is new, end what is gone; give a sentence."""
        ...

    async def change(self, line: str) -> str:
        """Do what `add ...` or `remove ...` says, as in a shell; give a sentence. Raises AgentTuiError."""
        ...

    async def login(
        self,
        name: str,
        *,
        show: Callable[[str, bool], None],
        pasted: Callable[[], Awaitable[str | None]],
    ) -> str:
        """Sign in; `show` is given the page's address and whether a browser took it. Raises AgentTuiError."""
        ...

    async def logout(self, name: str) -> str:
        """Forget a sign-in; give a sentence."""
        ...

    async def resources(self) -> Sequence[ResourceView]:
        """List what can be mentioned, of the servers that run."""
        ...

    async def prompts(self) -> Sequence[PromptView]:
        """List the prompts of the servers that run."""
        ...

    async def suggestions(
        self, prompt: PromptView, argument: str, typed: str, given: Mapping[str, str]
    ) -> Sequence[str]:
        """Ask the server for values of an argument, `given` the others; none when it has none."""
        ...

    async def run_prompt(self, prompt: PromptView, values: dict[str, str], shown: str) -> TurnResult:
        """Run the turn that a prompt's text begins; `shown` is what the person wrote.

        Without a text the turn fails and `shown` goes back.
        """
        ...

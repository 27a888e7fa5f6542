"""What the interface needs of the core; wiring provides it, tests fake it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # pydantic types cost 110 ms of CPU before the first paint
    from agent_tui.protocol.events import EventSink
    from agent_tui.protocol.permissions import Approver
    from agent_tui.protocol.replay import BlockKind, ReplayBlock, StoredText
    from agent_tui.protocol.tools import TurnResult
    from agent_tui.toolkit.context import Ask
    from agent_tui.ui.house import House
    from agent_tui.ui.own_commands import OwnCommands
    from agent_tui.ui.past import Past
    from agent_tui.ui.plugged import Extensions
    from agent_tui.ui.rulings import Rulings
    from agent_tui.ui.servers import ServerDesk
    from agent_tui.ui.talk import Talk

ModeName = Literal["default", "accept-edits", "plan", "auto", "dont-ask", "bypass"]


@dataclass(frozen=True)
class StatusView:
    """The facts of the status line. Tokens are counts; `cost_usd` None means not known; `notes` are extensions' own."""

    provider: str = ""
    model: str = ""
    mode: ModeName = "default"
    context_tokens: int = 0
    context_limit_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    session_id: str = ""
    session_name: str = ""
    sandbox: str = ""
    sandbox_reason: str = ""
    branch: str = ""
    workspace: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelsView:
    """The models that can be chosen; `problem` says why only the one in use is known, "" when the server told."""

    names: Sequence[str]
    problem: str = ""


@dataclass(frozen=True)
class SessionView:
    """One line of the session picker. `changed_at` is a POSIX time in seconds."""

    session_id: str
    name: str
    changed_at: float
    turns: int
    first_prompt: str
    workspace: str = ""


@dataclass(frozen=True)
class RuleView:
    """One rule or grant. `decision` is allow, ask or deny; `where` is file:line or "this session"."""

    rule_id: str
    decision: str
    text: str
    scope: str
    where: str
    removable: bool = False


@dataclass(frozen=True)
class ToolView:
    """One tool with the source it came from."""

    name: str
    description: str
    source: str


class Backend(Protocol):
    """The core as the interface sees it. Every method may be called from the event loop; none blocks it."""

    @property
    def workspace(self) -> Path: ...

    def bind(self, *, sink: EventSink, approver: Approver, ask: Ask) -> None:
        """Say where events go and who answers questions; before the first turn."""
        ...

    def notices(self) -> Sequence[str]:
        """Sentences to show once at start: how to connect a model, a tool that failed to load, a repaired session."""
        ...

    def status(self) -> StatusView: ...

    async def replay(
        self, *, whole: bool = False, known: Sequence[ReplayBlock] = ()
    ) -> Sequence[ReplayBlock]:
        """Give the blocks of the open session, oldest first. Texts of old ones lie on disk unless `whole`.

        `known`, what was read before, comes back when it still holds.
        """
        ...

    async def texts_since(self, offset: int) -> Mapping[tuple[BlockKind, str], StoredText]:
        """Give the places of the texts in the session's file from `offset` on, by kind and text; {} without a file."""
        ...

    async def run_turn(self, text: str) -> TurnResult:
        """Run a turn to its end. Never raises a ProviderError: that is an event."""
        ...

    @property
    def talk(self) -> Talk:
        """The conversation of the open session as the model sees it."""
        ...

    @property
    def past(self) -> Past:
        """The way back of the open session."""
        ...

    @property
    def house(self) -> House:
        """Trust, jobs, shell lines, lists of what there is."""
        ...

    @property
    def extensions(self) -> Extensions:
        """What people plugged in: commands, questions, status texts."""
        ...

    @property
    def own(self) -> OwnCommands:
        """The person's own commands and skills."""
        ...

    @property
    def waits(self) -> bool:
        """Whether calls of the last turn wait for approvals from before the program ended."""
        ...

    async def redrive(self) -> TurnResult:
        """Ask about those calls again and go on with their turn."""
        ...

    @property
    def mcp(self) -> ServerDesk:
        """The MCP servers of this run."""
        ...

    def cancel_turn(self) -> None:
        """Stop the running turn: `run_turn` then returns with stop_reason "cancelled". Cheap to call twice."""
        ...

    def warm_up(self) -> None:
        """The person begins to type: load what the first request needs, in a thread. Cheap to call again."""
        ...

    def steer(self, text: str) -> None:
        """Queue `text` for the next safe point of the running turn."""
        ...

    def follow_up(self, text: str) -> None:
        """Queue `text` for after the running turn."""
        ...

    def queued(self) -> Sequence[tuple[str, bool]]:
        """List what is queued as (text, after_turn), oldest first."""
        ...

    def take_back(self, index: int) -> str | None:
        """Remove the message at `index` of `queued` and give its text; None when there is none."""
        ...

    def next_follow_up(self) -> str | None:
        """Take what is to be sent as the next turn, when the last one ended."""
        ...

    def keep_commands(self, typed: Sequence[str]) -> None:
        """Keep the commands that wait for the end of the turn, so that a crash does not lose them."""
        ...

    def unsent(self) -> Sequence[str]:
        """Give once what was typed ahead in the open session and never sent or run, as it was typed, oldest first."""
        ...

    def set_mode(self, mode: ModeName) -> str:
        """Switch the permission mode; give a sentence when it was refused, else ""."""
        ...

    async def set_model(self, name: str) -> str:
        """Switch the model (`provider:model` or `model`); give a sentence for the person."""
        ...

    async def models(self) -> ModelsView: ...

    async def keep_image(self, path: str) -> str:
        """Keep an image file for this session, with "" that of the clipboard; give the name it is mentioned by.

        Raises AgentTuiError for what is no image or too large for a model.
        """
        ...

    async def open_images(self, *, call_id: str, prompt: str) -> str:
        """Open the images of a call, or of a prompt, in the desktop's program; give a sentence when that failed."""
        ...

    async def new_session(self) -> None: ...

    async def resume(self, session_id: str) -> str:
        """Open another session; give a sentence when something was repaired or refused, else ""."""
        ...

    async def sessions(self) -> Sequence[SessionView]: ...

    async def rename(self, name: str) -> None: ...

    def tools(self) -> Sequence[ToolView]: ...

    def rules(self) -> Sequence[RuleView]: ...

    @property
    def rulings(self) -> Rulings:
        """What was decided lately."""
        ...

    async def remove_rule(self, rule_id: str) -> str:
        """Revoke a grant; give a sentence."""
        ...

    def check_command(self, command: str) -> str:
        """Explain what would be decided for a shell command, as lines of text."""
        ...

    async def full_output(self, call_id: str) -> ReplayBlock | None:
        """Give the panel of a call without the display cut, or None when it is not kept."""
        ...

    def prompt_history(self, *, here: bool = False) -> Sequence[str]:
        """Prompts of earlier sessions, oldest first; `here` only those of this project."""
        ...

    def remember_prompt(self, text: str) -> None:
        """Append to the prompt history (0600, never blocks)."""
        ...

    @property
    def parting(self) -> str:
        """What the person is to know once the program is gone: where the session is, "" when there is none."""
        ...

    async def aclose(self) -> None:
        """End jobs, close the session; within 2 seconds."""
        ...

"""What the interface needs of the core besides the conversation: trust, jobs, shell lines, lists of what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent_tui.ui.configuring import SettingsDesk
    from agent_tui.ui.keeping import Keeping


@dataclass(frozen=True)
class TrustLine:
    """One thing that a project's own configuration would run or change. `file` is relative to the project."""

    kind: str
    name: str
    detail: str
    file: str


@dataclass(frozen=True)
class TrustView:
    """What the project brings, and whether it counts.

    `digest` names the content that was looked at; `diff` is what changed since it was accepted; `problem` says why it
    could not be read. `in_force` says that it counts in this run, `left_out` that nothing of it can.
    """

    lines: tuple[TrustLine, ...] = ()
    digest: str = ""
    diff: str = ""
    accepted: bool = False
    changed: bool = False
    in_force: bool = False
    left_out: bool = False
    problem: str = ""

    @property
    def asks(self) -> bool:
        """Whether a person has to decide before any of it counts."""
        return bool(self.lines) and not (self.accepted or self.in_force or self.left_out)


@dataclass(frozen=True)
class JobLine:
    """One background command. `state` is such as "running" or "exit code 1"; `tail` its last lines."""

    job_id: str
    command: str
    state: str
    running: bool
    tail: str


@dataclass(frozen=True)
class Listing:
    """Things of one kind as (name, description), and a sentence for each that is wrong."""

    rows: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()


class House(Protocol):
    """The surroundings of the open session. Nothing here blocks the event loop."""

    @property
    def keeping(self) -> Keeping:
        """Rules, folders and keys that the person adds by hand."""
        ...

    async def trust(self) -> TrustView: ...

    async def accept_trust(self, digest: str) -> str:
        """Trust exactly the content `digest` names; give a sentence that says what counts from when on."""
        ...

    async def revoke_trust(self) -> str:
        """Forget that the project is trusted; give a sentence."""
        ...

    def jobs(self) -> Sequence[JobLine]:
        """List the background commands of the session, oldest first."""
        ...

    def todos(self) -> str:
        """Give the model's task list, one line per task with its mark in front; "" when there is none."""
        ...

    async def end_job(self, job_id: str) -> str:
        """End a job with all it started; give a sentence."""
        ...

    def to_background(self) -> bool:
        """Send the command that is waited for to the background; whether there was one."""
        ...

    async def run_shell(self, command: str, *, private: bool) -> None:
        """Run the person's own shell line in the sandbox, without asking; its events go to the screen.

        Its output is told to the model with the next prompt unless `private`. A cancelled caller ends it.
        """
        ...

    @property
    def settings(self) -> SettingsDesk:
        """The settings files."""
        ...

    async def skills(self) -> Listing: ...

    async def skill(self, name: str) -> str:
        """Give all there is to know of a skill, as markdown. Raises AgentTuiError that lists the names there are."""
        ...

    async def reload_skills(self) -> str:
        """Look at the skills again and let the model know of changes with the next prompt; give a sentence."""
        ...

    async def agents(self) -> Listing: ...

    async def hooks(self) -> Listing:
        """List the hooks, in the order in which they are asked, as (event, what runs)."""
        ...

    async def memory(self) -> Listing:
        """List the instruction files the model reads, as (file, size)."""
        ...

    async def doctor(self) -> str:
        """Check the machine; give the lines of the report."""
        ...

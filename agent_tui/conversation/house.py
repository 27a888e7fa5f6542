"""The surroundings of the open session for the interface: trust, jobs, shell lines, and lists of what there is."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_tui.agent.agent_types import AgentType
from agent_tui.agent.instructions import load_instructions
from agent_tui.conversation.keeping import PersonsKeeping
from agent_tui.conversation.person_shell import PersonShell
from agent_tui.conversation.settings_desk import SettingsFiles
from agent_tui.extensions.skills import SkillLibrary
from agent_tui.extensions.trust import Trust, TrustStore
from agent_tui.protocol.errors import AgentTuiError, ToolError
from agent_tui.toolkit.checklist import checklist
from agent_tui.toolkit.context import JobView, TodoList
from agent_tui.toolkit.jobs import SessionJobs
from agent_tui.ui.house import JobLine, Listing, TrustLine, TrustView

TAIL_LINES = 5


class Inside(Protocol):
    """What the house needs of the open session."""

    @property
    def jobs(self) -> SessionJobs: ...

    @property
    def shell(self) -> PersonShell: ...

    @property
    def todos(self) -> TodoList: ...

    def skill_news(self, skills: Mapping[str, str]) -> str:
        """Let the model know which skills, by name and description, there are now; give a sentence for the person."""
        ...


MakeKeeping = Callable[[Callable[[], PersonShell]], PersonsKeeping]


@dataclass(frozen=True)
class Belongings:
    """What stays the same while sessions come and go. `agents` are the sub-agents, `agent_faults` what is wrong.

    `keeping` makes what keeps the person's decisions, for the shell of the open session; `doctor` checks the
    machine, in a thread. `trust_changed` makes the project's rules and tools count, or not any more; it gives what could
    not be loaded. Where nothing of a project `project_can_count`, nobody is asked to trust it.
    """

    workspace: Path
    trust: TrustStore
    trusted_for_this_run: bool
    trust_changed: Callable[[bool], Awaitable[Sequence[str]]]
    skills: SkillLibrary
    agents: Callable[[], Sequence[AgentType]]
    agent_faults: Sequence[str]
    hooks: Callable[[], tuple[Sequence[tuple[str, str]], Sequence[str]]]
    settings: SettingsFiles
    keeping: MakeKeeping
    doctor: Callable[[], str]
    reads_instructions: bool = True
    project_can_count: bool = True


class SessionHouse:
    """Implements `ui.house.House` for whatever session is open."""

    def __init__(self, belongings: Belongings, inside: Callable[[], Inside]) -> None:
        self._own = belongings
        self._inside = inside
        self._in_force = belongings.trusted_for_this_run
        self.keeping = belongings.keeping(lambda: self._inside().shell)

    async def trust(self) -> TrustView:
        verdict = await asyncio.to_thread(self._own.trust.verdict, self._own.workspace)
        return self._view(verdict)

    def _view(self, verdict: Trust) -> TrustView:
        return TrustView(
            lines=tuple(TrustLine(i.kind, i.name, i.detail, i.file) for i in verdict.items),
            digest=verdict.digest,
            diff=verdict.diff,
            accepted=verdict.accepted,
            changed=verdict.changed,
            in_force=self._in_force,
            left_out=not self._own.project_can_count,
            problem=verdict.problem,
        )

    async def accept_trust(self, digest: str) -> str:
        try:
            verdict = await asyncio.to_thread(self._own.trust.accept, self._own.workspace, digest=digest)
        except OSError as error:
            return f"The decision cannot be written: {error.strerror or error}. Nothing is trusted."
        if not verdict.accepted:
            why = verdict.problem or "it changed while it was shown"
            return f"It is not trusted: {why}. /trust shows it as it is now."
        failed = await self._own.trust_changed(True)
        said = "This project's configuration is trusted as it is now. Its rules, tools, hooks and MCP servers count from here on, the rest from the next start."
        return " ".join([said, *failed])

    async def revoke_trust(self) -> str:
        try:
            was = await asyncio.to_thread(self._own.trust.revoke, self._own.workspace)
        except OSError as error:
            return f"The decision cannot be written: {error.strerror or error}."
        if not was:
            return "This project was not trusted."
        await self._own.trust_changed(False)
        return "This project is not trusted any more. Its rules, tools and hooks do not count from here on, the rest from the next start."

    def jobs(self) -> Sequence[JobLine]:
        return [_job(view) for view in self._inside().jobs.all(tail_lines=TAIL_LINES)]

    def todos(self) -> str:
        return checklist(self._inside().todos.items)

    async def end_job(self, job_id: str) -> str:
        try:
            view = await self._inside().jobs.kill(job_id)
        except ToolError as error:
            return str(error)
        return f"{view.job_id} was ended ({_state(view)})."

    def to_background(self) -> bool:
        return self._inside().jobs.to_background()

    async def run_shell(self, command: str, *, private: bool) -> None:
        await self._inside().shell.run(command, private=private)

    @property
    def settings(self) -> SettingsFiles:
        return self._own.settings

    async def skills(self) -> Listing:
        found = await asyncio.to_thread(self._own.skills.find)
        rows = [
            (skill.name, f"{skill.description} ({skill.origin}{'' if skill.for_model else ', yours only'})")
            for skill in found.skills
        ]
        return Listing(tuple(rows), tuple(str(fault) for fault in found.faults))

    async def skill(self, name: str) -> str:
        try:
            return await asyncio.to_thread(self._own.skills.describe, name)
        except ToolError as error:
            raise AgentTuiError(str(error)) from error

    async def reload_skills(self) -> str:
        skills = await asyncio.to_thread(self._own.skills.all)
        return self._inside().skill_news({skill.name: skill.description for skill in skills})

    async def agents(self) -> Listing:
        rows = [(kind.name, kind.description) for kind in self._own.agents()]
        return Listing(tuple(rows), tuple(self._own.agent_faults))

    async def hooks(self) -> Listing:
        rows, problems = self._own.hooks()
        return Listing(tuple(rows), tuple(problems))

    async def memory(self) -> Listing:
        if not self._own.reads_instructions:
            return Listing()
        loaded = await asyncio.to_thread(load_instructions, self._own.workspace)
        rows = [(str(file.path), f"{len(file.text.encode()):,} bytes") for file in loaded.files]
        return Listing(tuple(rows), tuple(loaded.notices))

    async def doctor(self) -> str:
        return await asyncio.to_thread(self._own.doctor)


def _job(view: JobView) -> JobLine:
    return JobLine(view.job_id, view.command, _state(view), view.running, view.output)


def _state(view: JobView) -> str:
    if view.running:
        return "running"
    return "failed" if view.exit_code is None else f"exit code {view.exit_code}"

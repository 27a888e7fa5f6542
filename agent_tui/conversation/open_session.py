"""What belongs to one open session and goes when another is opened."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_tui.agent.checkpoints import Checkpoints
from agent_tui.agent.environment import Surroundings
from agent_tui.agent.loop import Agent
from agent_tui.conversation.desk import ToldOnce
from agent_tui.conversation.person_shell import PersonShell
from agent_tui.conversation.session_hooks import SessionHooks
from agent_tui.executor.rounds import Rounds
from agent_tui.sessions.restore import Restored
from agent_tui.sessions.store import Session
from agent_tui.toolkit.context import TodoList
from agent_tui.toolkit.jobs import SessionJobs


@dataclass
class OpenSession:
    """Everything that belongs to one session and goes when another is opened.

    `shown` are the sentences about it that the person saw.
    """

    record: Session
    agent: Agent
    jobs: SessionJobs
    todos: TodoList
    checkpoints: Checkpoints
    surroundings: Surroundings
    restored: Restored
    told: ToldOnce
    shell: PersonShell
    hooks: SessionHooks
    rounds_for: Callable[[str], Rounds]
    shown: set[str] = field(default_factory=set[str])

    def new_notices(self) -> list[str]:
        """Give the sentences about this session that were not given yet."""
        instructions = self.surroundings.instructions
        said = [*self.record.notices, *(instructions.notices if instructions else [])]
        new = [text for text in said if text not in self.shown]
        self.shown.update(new)
        return new

    async def aclose(self) -> str:
        """End its jobs and its helper, close its file; give where a copy is when it could not be saved, else ""."""
        await self.jobs.close()
        await self.checkpoints.aclose()
        await self.record.aclose()
        return await asyncio.to_thread(self.record.write_elsewhere)

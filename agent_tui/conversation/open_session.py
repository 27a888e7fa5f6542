"""What belongs to one open session and goes when another is opened."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from agent_tui.agent.checkpoints import Checkpoints
from agent_tui.agent.environment import Surroundings
from agent_tui.agent.loop import Agent
from agent_tui.conversation.person_shell import PersonShell
from agent_tui.conversation.session_hooks import SessionHooks
from agent_tui.conversation.told_once import ToldOnce
from agent_tui.executor.rounds import Rounds
from agent_tui.sessions.restored import Restored
from agent_tui.sessions.store import Session
from agent_tui.toolkit.context import TodoItem, TodoList
from agent_tui.toolkit.jobs import SessionJobs


@dataclass
class OpenSession:
    """Everything that belongs to one session and goes when another is opened.

    `pending` are the ids of the calls that waited for approvals when it was opened.
    `skills` are those the model knows, name to description; None when it cannot load any. `shown` are the sentences
    about it that the person saw.
    """

    record: Session
    agent: Agent
    jobs: SessionJobs
    todos: TodoList
    checkpoints: Checkpoints
    surroundings: Surroundings
    pending: frozenset[str]
    told: ToldOnce
    shell: PersonShell
    hooks: SessionHooks
    rounds_for: Callable[[str], Rounds]
    skills: Mapping[str, str] | None = None
    shown: set[str] = field(default_factory=set[str])

    @property
    def notices(self) -> list[str]:
        """The sentences about this session so far."""
        instructions = self.surroundings.instructions
        return [*self.record.notices, *(instructions.notices if instructions else [])]

    def new_notices(self) -> list[str]:
        """Give the sentences about this session that were not given yet."""
        new = [text for text in self.notices if text not in self.shown]
        self.shown.update(new)
        return new

    def skill_news(self, skills: Mapping[str, str]) -> str:
        """Let the model know with the next prompt which skills there are now; give a sentence for the person."""
        count = f"{len(skills)} {'skill' if len(skills) == 1 else 'skills'} for the model"
        if self.skills is None:
            return f"{count}, but it has no tool to load one in this run."
        known, self.skills = self.skills, dict(skills)
        new = {name: text for name, text in skills.items() if known.get(name) != text}
        gone = [name for name in known if name not in skills]
        if not new and not gone:
            return f"{count}, as before."
        lines = [f"- {name}: {' '.join(text.split())}" for name, text in new.items()]
        left = [f"There is no longer: {', '.join(gone)}."] if gone else []
        self.told.add(
            "\n".join(["The skills have changed.", *(["Now there is:", *lines] if lines else []), *left])
        )
        said = [f"new or changed: {', '.join(new)}"] if new else []
        said += [f"gone: {', '.join(gone)}"] if gone else []
        return f"{count}; {'; '.join(said)}. It learns so with your next prompt."

    async def aclose(self) -> str:
        """End its shell lines, jobs and helper, close its file; give where a copy is when it could not be saved, else ""."""
        await self.shell.aclose()
        await self.jobs.close()
        await self.checkpoints.aclose()
        await self.record.aclose()
        return await asyncio.to_thread(self.record.write_elsewhere)


def todo_items(restored: Restored) -> tuple[TodoItem, ...]:
    """Give the todo list of a restored session; one that cannot be understood is none, and counts as unread."""
    try:
        return tuple(TodoItem.model_validate(item) for item in restored.todos)
    except ValidationError:
        restored.unread += 1
        return ()

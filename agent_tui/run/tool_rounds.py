"""Rounds without a model and without a session, for the `tool` subcommand."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from agent_tui.conversation.round_hooks import RoundHooks
from agent_tui.executor.rounds import Rounds
from agent_tui.executor.strategy import executor_named
from agent_tui.protocol.journal import NullJournal
from agent_tui.protocol.permissions import Approver
from agent_tui.run.ground import make_ground, make_policy
from agent_tui.run.hooks import make_hooks
from agent_tui.run.options import RunOptions
from agent_tui.toolkit.context import ShellState, TodoList, ToolContext
from agent_tui.toolkit.jobs import SessionJobs
from agent_tui.toolkit.tracker import FileTracker


@asynccontextmanager
async def tool_rounds(workspace: Path, approver: Approver) -> AsyncGenerator[Rounds]:
    """Give rounds without a model and without a session; the person counts as having read every file."""
    ground = await asyncio.to_thread(make_ground, RunOptions(), workspace)

    async def warn(text: str) -> None:
        print(text, file=sys.stderr)

    run_hooks, problems = make_hooks(ground, warn)
    for problem in problems:
        await warn(problem)
    hooks = RoundHooks(run_hooks.hooks)
    jobs = SessionJobs()
    data_dir = ground.outputs
    shell, todos, files = ShellState(cwd=workspace), TodoList(), FileTracker(trusting=True)

    def context(call_id: str, turn_id: str) -> ToolContext:
        return ToolContext(
            call_id=call_id,
            turn_id=turn_id,
            session_id="tool",
            workspace=workspace,
            files=files,
            sandbox=ground.sandbox,
            shell=shell,
            todos=todos,
            data_dir=data_dir,
            jobs=jobs,
            skills=ground.texts.skills,
            web=ground.web,
        )

    async def silent(_event: object) -> None:
        """Nobody watches."""

    try:
        ground.extensions.start()
        await ground.extensions.settled()
        for level, text in ground.extensions.publish(ground.tools):
            if level != "info":
                print(text, file=sys.stderr)
        yield Rounds(
            tools=ground.tools,
            policy=make_policy(ground, readable=[data_dir]),
            approver=approver,
            journal=NullJournal(),
            sink=silent,
            make_context=context,
            hooks=hooks,
            questions=hooks,
            executor=executor_named(ground.settings.tools.rounds),
        )
    finally:
        await ground.extensions.aclose()
        await jobs.close()
        await asyncio.to_thread(ground.close)

"""Builds all that belongs to one session: the agent, its sub-agents, and the world its tool calls see."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_tui.agent.checkpointed import CheckpointedRounds
from agent_tui.agent.checkpoints import Checkpoints
from agent_tui.agent.environment import Surroundings
from agent_tui.agent.guardrails import GuardrailChain, GuardrailHooks
from agent_tui.agent.loop import Agent
from agent_tui.agent.masking import SecretsMasked
from agent_tui.agent.nested import NestedInstructions
from agent_tui.agent.plan import PlanMode, PlanReminder, inside_reminder
from agent_tui.agent.prompt import system_prompt
from agent_tui.agent.queue import MessageQueue
from agent_tui.agent.subagents import Shared, Subagents
from agent_tui.conversation.denial_offer import DenialOffers
from agent_tui.conversation.desk import Desk
from agent_tui.conversation.images import KeptImages
from agent_tui.conversation.mentions import Attachments
from agent_tui.conversation.open_session import OpenSession, todo_items
from agent_tui.conversation.person_shell import PersonShell
from agent_tui.conversation.round_hooks import RoundHooks
from agent_tui.conversation.session_hooks import SessionHooks
from agent_tui.conversation.told_once import ToldOnce
from agent_tui.executor.hooks import AfterCall, BeforeCall, HookChain
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.prepare import MakeContext
from agent_tui.executor.rounds import Rounds
from agent_tui.executor.strategy import executor_named
from agent_tui.extensions.hooks.bus import Hooks
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.events import Notice
from agent_tui.protocol.journal import NullJournal
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.providers.base import Provider
from agent_tui.providers.retry import RetryingProvider
from agent_tui.run.earlier_spending import EarlierSpending
from agent_tui.run.ground import Ground
from agent_tui.sessions.restored import explain
from agent_tui.sessions.store import Session
from agent_tui.toolkit.context import Modes, ShellState, Spawn, TodoItem, TodoList, ToolContext
from agent_tui.toolkit.jobs import SessionJobs
from agent_tui.toolkit.tracker import FileTracker


class SessionBuilder:
    """Makes the agent of a session. `provider` is the model that the next session asks, `mask` hides known secrets."""

    def __init__(
        self,
        ground: Ground,
        desk: Desk,
        policy: Policy,
        connect: Callable[[str], RetryingProvider],
        checkpoint_folder: Path,
        mask: Callable[[str], str],
        hooks: Hooks,
        resource: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._hooks = hooks
        self._resource = resource
        self._checkpoint_folder = checkpoint_folder
        self._mask = mask
        self._ground = ground
        self._desk = desk
        self._policy = policy
        self._connect = connect
        self._locks = PathLocks()
        self.provider: RetryingProvider

    async def open(self, record: Session) -> OpenSession:
        """Build everything that belongs to `record`."""
        ground, desk = self._ground, self._desk
        jobs = SessionJobs()
        earlier = EarlierSpending(ground.settings.model.facts)
        restored = await asyncio.to_thread(lambda: record.restored(keep_pending=True, replied=earlier.add))
        unsent = await asyncio.to_thread(record.unsent)
        todos = todo_items(restored)
        record.notices += explain(restored)
        if restored.messages:  # what the next request holds is shown, and the tools are part of it
            await ground.tools.get_ready()
        world = _World(ground, record, jobs, desk, self._policy, todos=todos)
        surroundings = Surroundings(
            ground.workspace,
            sandbox=ground.sandbox,
            trusted=ground.accepted,
            reads_instructions=ground.options.counted.texts,
        )
        round_hooks = RoundHooks(self._hooks)
        hooks = HookChain(
            [
                NestedInstructions(lambda: surroundings.instructions),
                SecretsMasked(self._mask),
                round_hooks,
                GuardrailHooks(GuardrailChain(ground.guardrails)),
            ]
        )
        offers = self._offers()
        executor = executor_named(ground.settings.tools.rounds)
        checkpoints = Checkpoints(ground.workspace, self._checkpoint_folder)
        told = ToldOnce()
        session_hooks = SessionHooks(self._hooks, round_hooks, session_id=lambda: record.id, tell=told.add)
        plan = PlanReminder(self._policy, lambda: agent.history)
        skills = await asyncio.to_thread(ground.skill_names) if ground.tools.owns("skill") else []
        types = ground.agent_types() if ground.tools.owns("task") else []
        agent = Agent(
            provider=self.provider,
            rounds=CheckpointedRounds(
                Rounds(
                    tools=ground.tools,
                    policy=self._policy,
                    approver=desk,
                    journal=record,
                    sink=desk.tell,
                    make_context=world.context,
                    hooks=HookChain([hooks, TodosKept(record, world.todos.items), offers]),
                    questions=round_hooks,
                    locks=self._locks,
                    executor=executor,
                ),
                checkpoints=checkpoints,
                tools=ground.tools,
                keep=record.checkpoint,
                say=desk.warn,
                busy=lambda: bool(jobs.running()),
                last=await asyncio.to_thread(record.last_tree),
                workspace=ground.workspace,
            ),
            tools=ground.tools,
            sink=desk.tell,
            journal=record,
            system=system_prompt(
                replace=ground.system_prompt,
                extra=ground.inputs.append_system_prompt,
                skills=skills,
                agents=[(kind.name, kind.description) for kind in types],
            ),
            environment=surroundings,
            history=restored.messages,
            known=restored.known,
            summaries=restored.summaries,
            limits=ground.limits(),
            schema=ground.inputs.schema,
            guardrails=ground.guardrails,
            hooks=session_hooks,
            ask_continue=desk.ask_continue,
            queue=MessageQueue(keep=record.keep_unsent, found=unsent),
            session_id=record.id,
            late=ground.tools,
            spent_before=earlier.spending,
            reminders=lambda: [*plan(), *told.give()],
            reminded=told.arrived,
            attach=Attachments(
                ground.tools,
                world.context,
                self._policy,
                workspace=ground.workspace,
                images=KeptImages(lambda: record.data_dir),
                reads_pdfs=lambda: world.agent is not None and world.agent.provider.info.reads_pdfs,
                warn=desk.warn,
                resource=self._resource,
            ),
        )
        world.agent = agent
        world.spawn = Subagents(
            parent=agent,
            types=types,
            shared=Shared(
                tools=ground.tools,
                policy=self._policy,
                approver=desk,
                sink=desk.tell,
                locks=self._locks,
                environment=surroundings,
                reminders=inside_reminder(self._policy),
                hooks=HookChain([hooks, offers]),
                questions=round_hooks,
                skills=skills,
                guardrails=ground.guardrails,
                executor=executor,
            ),
            setting=_Setting(world, agent, record, self._connect),
        )
        return OpenSession(
            record=record,
            agent=agent,
            jobs=jobs,
            todos=world.todos,
            checkpoints=checkpoints,
            surroundings=surroundings,
            pending=frozenset(request.call_id for request in restored.pending),
            told=told,
            hooks=session_hooks,
            skills=dict(skills) if ground.tools.owns("skill") else None,
            rounds_for=lambda name: Rounds(
                tools=ground.tools,
                policy=self._policy,
                approver=desk,
                journal=NullJournal(),
                sink=desk.tell,
                make_context=world.context,
                hooks=HookChain([hooks, offers]),
                questions=round_hooks,
                agent_name=name,
                locks=self._locks,
                executor=executor,
            ),
            shell=PersonShell(ground.tools, world.context, desk.tell, told.add),
        )

    def _offers(self) -> DenialOffers:
        """Give what offers to open the sandbox."""
        ground = self._ground
        return DenialOffers(
            sandbox=ground.granted,
            policy=self._policy,
            ask=lambda: self._desk.ask,
            refused=ground.refused_hosts,
            home=Path.home().resolve(),
            own=ground.paths.own(),
        )


class TodosKept:
    """A hook of rounds: writes the todo list down whenever a call changed it."""

    def __init__(self, record: Session, items: Sequence[TodoItem]) -> None:
        self._record = record
        self._items = tuple(items)

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Let every call pass."""
        return BeforeCall()

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Compare the list with the one that was written last."""
        if ctx.todos.items != self._items:
            self._items = ctx.todos.items
            await self._record.todos_changed([item.model_dump(mode="json") for item in self._items])
        return AfterCall()


class _World:
    """What the calls of one agent share. That of a sub-agent has `inside` set."""

    def __init__(
        self,
        ground: Ground,
        record: Session,
        jobs: SessionJobs,
        desk: Desk,
        policy: Policy,
        *,
        todos: Sequence[TodoItem] = (),
        inside: bool = False,
    ) -> None:
        self.agent: Agent | None = None
        self.spawn: Spawn | None = None
        self._ground = ground
        self._record = record
        self._jobs = jobs
        self._desk = desk
        self._policy = policy
        self._inside = inside
        self._files = FileTracker()
        self._shell = ShellState(cwd=ground.workspace)
        self.todos = TodoList(items=tuple(todos))

    def inner(self, agent: Agent) -> "_World":
        """Give the world of a sub-agent: files, shell and todos of its own, background jobs and outputs of the session."""
        world = _World(self._ground, self._record, self._jobs, self._desk, self._policy, inside=True)
        world.agent = agent
        return world

    def context(self, call_id: str, turn_id: str) -> ToolContext:
        """Make the context of one call."""
        return ToolContext(
            call_id=call_id,
            turn_id=turn_id,
            session_id=self._record.id,
            workspace=self._ground.workspace,
            files=self._files,
            sandbox=self._ground.sandbox,
            shell=self._shell,
            todos=self.todos,
            data_dir=self._record.data_dir,
            jobs=self._jobs,
            ask=None if self._inside else self._desk.ask,
            spawn=self.spawn,
            skills=self._ground.texts.skills,
            modes=self._modes(),
            web=self._ground.web,
            sees_images=self.agent is not None and self.agent.provider.info.sees_images,
            extra_roots=tuple(self._ground.granted.roots),
        )

    def _modes(self) -> Modes | None:
        ask = self._desk.ask
        return None if self._inside or ask is None else PlanMode(self._policy, ask, self._mode_changed)

    async def _mode_changed(self, mode: Mode) -> None:
        text = f"The plan was accepted; the mode is {mode} now."
        await self._desk.tell(Notice(turn_id=self._desk.turn_id, level="info", text=text))


class _Setting:
    """Implements `agent.subagents.Setting` for one session."""

    def __init__(
        self, world: _World, agent: Agent, record: Session, connect: Callable[[str], RetryingProvider]
    ) -> None:
        self._world = world
        self._agent = agent
        self._record = record
        self._connect = connect

    @asynccontextmanager
    async def provider(self, model: str) -> AsyncGenerator[Provider]:
        """Give the main agent's model with retries of its own, or connect to the one that is named."""
        main = self._agent.provider
        if not model:
            yield main.twin() if isinstance(main, RetryingProvider) else main
            return
        own = await asyncio.to_thread(self._connect, model)
        try:
            yield own
        finally:
            await own.aclose()

    def transcript(self, call_id: str, title: str) -> Session:
        """Begin a file of its own in the session's folder."""
        return self._record.child(call_id, name=title)

    def contexts(self) -> MakeContext:
        """Make a new world."""
        return self._world.inner(self._agent).context

"""The open conversation: one session with its agent, served to the screen and to headless runs."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.agent.loop import Agent
from agent_tui.agent.queue import MessageQueue
from agent_tui.conversation.branch import git_branch
from agent_tui.conversation.desk import Desk
from agent_tui.conversation.house import Belongings, SessionHouse
from agent_tui.conversation.images import IMAGE_MARK, KeptImages
from agent_tui.conversation.model_choice import ConnectTo, ModelChoice
from agent_tui.conversation.open_session import OpenSession, todo_items
from agent_tui.conversation.own_commands import SessionCommands, Typed
from agent_tui.conversation.past import SessionPast
from agent_tui.conversation.plugged import SessionExtensions
from agent_tui.conversation.rules import SessionRules
from agent_tui.conversation.rulings import PolicyRulings
from agent_tui.conversation.servers import SessionServers
from agent_tui.conversation.stops import Stops
from agent_tui.conversation.talk import SessionTalk
from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.commands import CommandLibrary
from agent_tui.extensions.mcp.config import Found, ServerFiles
from agent_tui.extensions.mcp.servers import Servers
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.errors import Overloaded, RateLimited, SessionError
from agent_tui.protocol.events import EventSink, Notice
from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.replay import BlockKind, ReplayBlock, StoredText
from agent_tui.protocol.slash_line import as_typed, without_escape
from agent_tui.protocol.tools import TurnResult
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.sandbox.interface import Sandbox
from agent_tui.sessions.prompts import HistoryFile
from agent_tui.sessions.store import Session, SessionStore
from agent_tui.toolkit.context import Ask, Question, TodoItem
from agent_tui.toolkit.programs import find_program
from agent_tui.ui.backend import ModelsView, ModeName, RuleView, SessionView, StatusView, ToolView

if TYPE_CHECKING:
    from agent_tui.sessions.approvals import RecordedApprover

_LOG = logging.getLogger(__name__)

OpenWith = Callable[[Session], Awaitable[OpenSession]]


class Core:
    """Implements the interface's Backend and the headless Conversation."""

    def __init__(
        self,
        *,
        workspace: Path,
        desk: Desk,
        session: OpenSession,
        open_session: OpenWith,
        connect: ConnectTo,
        store: SessionStore,
        policy: Policy,
        belongings: Belongings,
        tools: CompositeSource,
        sandbox: Sandbox,
        granted: GrantedSandbox,
        history: HistoryFile,
        warm_up: Callable[[], None],
        notices: Sequence[str],
        persistent: bool = True,
        look_around: Callable[[], Awaitable[Sequence[str]]] | None = None,
        clean_up: Callable[[], None],
        servers: Servers,
        server_files: ServerFiles,
        reread_servers: Callable[[], Awaitable[Found]],
        extensions: SessionExtensions,
        commands: CommandLibrary,
        connect_beside: ConnectTo,
        project_counts: Callable[[], bool],
    ) -> None:
        self._workspace = workspace
        self._desk = desk
        self._session = session
        desk.waits = session.hooks.approval_waits
        self._stops = Stops(desk.tell)
        self._past = SessionPast(
            workspace=workspace, store=store, opened=lambda: self._session, reload=self._reload
        )
        self._house = SessionHouse(belongings, lambda: self._session)
        self._talk = SessionTalk(
            agent=lambda: self._session.agent, record=lambda: self._session.record, reload=self._reload
        )
        self.own = SessionCommands(
            library=commands,
            skills=belongings.skills,
            policy=policy,
            inside=lambda: self._session,
            turn=self._run_turn,
            connect=connect_beside,
            counts=project_counts,
            stops=self._stops,
        )
        self._model = ModelChoice(connect, lambda: self._session.agent)
        self._house.keeping.key_stored = self._model.key_stored
        self._open_session = open_session
        self._store = store
        self._policy = policy
        self._granted = granted
        self._rules = SessionRules(policy, granted)
        self._tools = tools
        self._sandbox = sandbox
        self._history = history
        self._warm_up = warm_up
        self._warm = False
        self._notices = list(notices)
        self._persistent = persistent
        self._look_around = look_around
        self._looking: asyncio.Task[None] | None = None
        self._clean_up = clean_up
        self.servers = servers
        self.mcp = SessionServers(
            servers,
            files=server_files,
            reread=reread_servers,
            turn=self._run_turn,
            workspace=workspace,
            stops=self._stops,
        )
        self.extensions = extensions
        desk.overhear = extensions.hear
        self._begun = False
        self._rescued = ""

    @property
    def workspace(self) -> Path:
        return self._workspace

    @property
    def agent(self) -> Agent:
        """The agent of the open session."""
        return self._session.agent

    @property
    def queue(self) -> MessageQueue:
        return self.agent.queue

    @property
    def last_error_may_pass(self) -> bool:
        """Whether the last turn failed by something that a later try may not meet."""
        return isinstance(self.agent.last_error, Overloaded | RateLimited)

    def bind(self, *, sink: EventSink, approver: Approver, ask: Ask | None) -> None:
        self._desk.sink = sink
        self._desk.approver = approver
        self._desk.ask = None if ask is None else self._asking(ask)
        if not self._begun:
            self._begun = True
            self._session.hooks.begin("resume" if self.agent.history else "new")
        if ask is not None and self._look_around is not None:
            look, self._look_around = self._look_around, None
            self._looking = asyncio.create_task(self._tell_of(look))  # owned: ended by aclose

    def _asking(self, ask: Ask) -> Ask:
        """Give an `ask` that also tells hooks that a question waits."""

        async def told(questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
            self._session.hooks.question_waits(questions)
            return await ask(questions)

        return told

    async def _tell_of(self, look: Callable[[], Awaitable[Sequence[str]]]) -> None:
        """Tell the person what was found on this machine."""
        for text in await look():
            await self._desk.tell(Notice(turn_id="", level="info", text=text))

    def all_notices(self) -> Sequence[str]:
        """Give what `notices` gave or would give; nothing counts as told by it."""
        return [*self._notices, *self._session.notices]

    def notices(self) -> Sequence[str]:
        return [*self._notices, *self._session.new_notices()]

    def status(self) -> StatusView:
        provider, usage = self.agent.provider, self.agent.usage
        return StatusView(
            provider=provider.name,
            model=provider.model,
            mode=self._policy.mode.value,
            context_tokens=self.agent.context_tokens,
            context_limit_tokens=provider.context_tokens,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_usd=self.agent.cost_usd,
            session_id=self._session.record.id,
            session_name=self._session.record.name,
            sandbox=self._sandbox.strength.value,
            sandbox_reason=self._sandbox.reason,
            branch=git_branch(self._workspace),
            workspace=str(self._workspace),
            notes=self.extensions.statuses(),
        )

    async def replay(
        self, *, whole: bool = False, known: Sequence[ReplayBlock] = ()
    ) -> Sequence[ReplayBlock]:
        record = self._session.record
        return await asyncio.to_thread(record.replay if whole else lambda: record.paged_replay(known=known))

    async def texts_since(self, offset: int) -> Mapping[tuple[BlockKind, str], StoredText]:
        return await asyncio.to_thread(self._session.record.texts_since, offset)

    async def _join_tools(self) -> None:
        """Let the tools of servers and extensions that came up since the last turn join the others, and say so."""
        for news in self.servers.publish(self._tools, cached=bool(self.agent.history)):
            level = "warning" if news.trouble else "info"
            await self._desk.tell(Notice(turn_id=self._desk.turn_id, level=level, text=news.text))
        for level, text in self.extensions.news(self._tools):
            await self._desk.tell(Notice(turn_id=self._desk.turn_id, level=level, text=text))

    async def run_turn(self, text: str, *, images: Sequence[ImageBlock] = ()) -> TurnResult:
        return await self._run_turn(Typed(text, images=images))

    async def run_prompt(
        self, text: str, *, beside: str = "", images: Sequence[ImageBlock] = ()
    ) -> TurnResult:
        """Run a turn; a line that names a command of the person's, or a skill, is run as that.

        `beside` goes along below the text: what was piped in or attached, of which nothing is a mention.
        """
        with self._stops.watched() as switch:
            named = await self.own.named(text)
            if switch.pressed:
                return await self._stops.not_sent(text)
            if named:
                return await self.own.run(*named, beside=beside, images=images)
            return await self._run_turn(Typed(without_escape(text), beside=beside, images=images))

    async def _run_turn(self, typed: Typed) -> TurnResult:
        def run() -> Awaitable[TurnResult]:
            return self.agent.run(typed.whole, images=typed.images, shown=typed.shown, own_words=typed.words)

        return await self._begin(run, as_typed(typed.whole) if typed.shown is None else typed.shown)

    async def _begin(self, run: Callable[[], Awaitable[TurnResult]], typed: str) -> TurnResult:
        with self._stops.watched() as switch:
            self._session.checkpoints.begin()
            await self._join_tools()
            if switch.pressed:
                return await self._stops.not_sent(typed)
            result = await run()
        await self._tell_new()
        return result

    @property
    def mode(self) -> ModeName:
        """The permission mode in force."""
        return self._policy.mode.value

    @property
    def todos(self) -> Sequence[TodoItem]:
        """The todo list of the open session."""
        return self._session.todos.items

    @property
    def talk(self) -> SessionTalk:
        return self._talk

    @property
    def past(self) -> SessionPast:
        return self._past

    @property
    def house(self) -> SessionHouse:
        return self._house

    @property
    def waits(self) -> bool:
        """Whether calls that waited for approvals when the session was opened are open still."""
        return not self._session.pending.isdisjoint(self.agent.open_calls)

    async def redrive(self) -> TurnResult:
        return await self._begin(self.agent.redrive, "")

    def recorded_approver(self, keys: Path) -> "RecordedApprover":
        """Give what answers from the signed responses of the open session."""
        from agent_tui.sessions.approvals import ApprovalKey
        from agent_tui.sessions.deferred import recorded_approver  # 1 ms of CPU, in resumed runs of -p only

        return recorded_approver(self._session.record, key=ApprovalKey(keys), cwd=self._workspace)

    async def _tell_new(self) -> None:
        for text in self._session.new_notices():
            await self._desk.warn(text)
        for level, text in self.extensions.said():
            await self._desk.tell(Notice(turn_id=self._desk.turn_id, level=level, text=text))

    async def _reload(self, note: str) -> None:
        """Make the agent go on from what the session holds now; `note` is for the model."""
        session = self._session
        restored = await asyncio.to_thread(session.record.restored)
        self.agent.history = restored.messages
        session.todos.items = todo_items(restored)
        session.told.add(note)

    def cancel_turn(self) -> None:
        self._stops.press()
        self.own.cancel()
        self.agent.cancel()

    def warm_up(self) -> None:
        self._session.checkpoints.begin()
        if not self._warm:
            self._warm = True
            self._warm_up()

    def steer(self, text: str) -> None:
        self.queue.steer(text)

    def follow_up(self, text: str) -> None:
        self.queue.follow_up(text)

    def queued(self) -> Sequence[tuple[str, bool]]:
        return [(item.text, item.after_turn) for item in self.queue.waiting()]

    def take_back(self, index: int) -> str | None:
        return self.queue.remove(index)

    def next_follow_up(self) -> str | None:
        return self.queue.next_follow_up()

    def keep_commands(self, typed: Sequence[str]) -> None:
        self.queue.keep_beside(typed)

    def unsent(self) -> Sequence[str]:
        return self.queue.offer_found()

    def set_mode(self, mode: ModeName) -> str:
        self._policy.mode = Mode(mode)
        return ""

    async def set_model(self, name: str) -> str:
        return await self._model.use(name)

    async def models(self) -> ModelsView:
        return await self._model.names()

    async def keep_image(self, path: str) -> str:
        images = KeptImages(lambda: self._session.record.data_dir)
        if path:
            name = await asyncio.to_thread(images.keep_file, self._workspace / Path(os.path.expanduser(path)))
        else:
            from agent_tui.conversation.clipboard import Clipboard  # loaded ahead by `run.ahead`

            find = partial(find_program, outside=self._workspace)
            data = await Clipboard(find, os.environ).image()
            name = await asyncio.to_thread(images.keep, data)
        return f"{IMAGE_MARK}{name}"

    async def open_images(self, *, call_id: str, prompt: str) -> str:
        from agent_tui.conversation.pictures import open_images  # loaded ahead by `run.ahead`

        return await open_images(self._session.record, call_id, prompt, outside=self._workspace)

    async def new_session(self) -> None:
        record = await asyncio.to_thread(self._store.create, self._workspace)
        await self._switch(record)

    async def resume(self, session_id: str) -> str:
        if session_id == self._session.record.id:
            return "This session is open already."
        try:
            record = await asyncio.to_thread(self._store.open, session_id)
        except SessionError as error:
            return str(error)
        await self._switch(record)
        return " ".join(self._session.new_notices())

    async def _switch(self, record: Session) -> None:
        old = self._session
        try:
            opened = await self._open_session(record)
            await old.hooks.end("switch")
        except BaseException:  # a record that stays locked could not be opened again
            await record.aclose()
            raise
        self._session = opened
        self._desk.waits = opened.hooks.approval_waits
        self._policy.start_session(record.id)
        self._granted.forget()
        self._session.hooks.begin("resume" if self.agent.history else "new")
        self.extensions.session_started(record.id)
        rescued = await old.aclose()
        if rescued:
            await self._desk.warn(rescued)

    async def sessions(self) -> Sequence[SessionView]:
        found = await asyncio.to_thread(self._store.list, None)
        return [
            SessionView(
                session_id=info.session_id,
                name=info.name,
                changed_at=info.changed_at,
                turns=info.turns,
                first_prompt=info.first_prompt,
                workspace=info.workspace,
            )
            for info in found
        ]

    async def rename(self, name: str) -> None:
        await self._session.record.rename(name)

    def tools(self) -> Sequence[ToolView]:
        return [ToolView(s.name, s.description, self._tools.origin(s.name)) for s in self._tools.specs()]

    def rules(self) -> Sequence[RuleView]:
        return self._rules.views()

    @property
    def rulings(self) -> PolicyRulings:
        return PolicyRulings(self._policy)

    async def remove_rule(self, rule_id: str) -> str:
        return await self._rules.remove(rule_id)

    def check_command(self, command: str) -> str:
        return self._rules.explain(command, cwd=self._workspace)

    async def full_output(self, call_id: str) -> ReplayBlock | None:
        return await asyncio.to_thread(self._session.record.full_output, call_id)

    def prompt_history(self, *, here: bool = False) -> Sequence[str]:
        return self._history.read(here=here)

    def remember_prompt(self, text: str) -> None:
        if self._persistent:
            self._history.append(text)

    @property
    def rescued(self) -> str:
        """Where the session is that could not be saved, once all is closed; "" when it was."""
        return self._rescued

    @property
    def parting(self) -> str:
        record = self._session.record
        if self._rescued or not record.is_kept:
            return self._rescued
        name = f"{record.name} " if record.name else ""
        return f"Session {name}kept. Go on with: agent-tui --resume {record.id}"

    async def aclose(self) -> None:
        """Close everything; the session is saved whatever becomes of the rest. Raises what saving it raises."""
        started = time.monotonic()
        self.cancel_turn()

        async def disconnect() -> None:
            async with asyncio.timeout(max(0.1, 2 - (time.monotonic() - started))):
                await self.agent.provider.aclose()

        async with AsyncExitStack() as last:
            last.push_async_callback(_closed, disconnect)
            last.push_async_callback(asyncio.to_thread, self._clean_up)
            last.push_async_callback(self._save)
            async with asyncio.TaskGroup() as group:
                group.create_task(_closed(partial(self._session.hooks.end, "leave")))
                group.create_task(_closed(self.extensions.aclose))
                group.create_task(_closed(self.servers.aclose))
            if self._looking is not None:
                self._looking.cancel()
                await asyncio.wait([self._looking])

    async def _save(self) -> None:
        self._rescued = await self._session.aclose()


async def _closed(close: Callable[[], Awaitable[None]]) -> None:
    """Close one thing; what goes wrong in it, foreign code too, must not keep the others open."""
    try:
        await close()
    except Exception:
        _LOG.exception("while closing")

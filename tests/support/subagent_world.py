import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_tui.agent.agent_types import BUILT_IN, AgentType
from agent_tui.agent.limits import Limits
from agent_tui.agent.loop import Agent
from agent_tui.agent.subagents import Shared, Subagents
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.prepare import MakeContext
from agent_tui.executor.registry import CompositeSource
from agent_tui.executor.rounds import Rounds
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.journal import NullJournal
from agent_tui.providers.scripted import Reply, ScriptedProvider, calls, text, use
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.testing import RecordingJournal, RecordingSink, ScriptedApprover, make_context
from agent_tui.toolkit.tracker import FileTracker
from tests.support.round_world import Bash, FakePolicy, Log, Read, Write


class Kept(RecordingJournal):
    """A transcript that remembers its title and whether it was closed."""

    def __init__(self, call_id: str, title: str) -> None:
        super().__init__()
        self.call_id, self.title, self.closed = call_id, title, False
        self.path = Path(f"/kept/{call_id}.jsonl")

    async def aclose(self) -> None:
        self.closed = True


@dataclass
class SubWorld:
    """A main agent and what its sub-agents say: the replies of each by the words of its prompt."""

    workspace: Path
    scripts: dict[str, Sequence[Reply]]
    main: ScriptedProvider
    types: Sequence[AgentType] = BUILT_IN
    limits: Limits = Limits()
    policy: FakePolicy = field(default_factory=lambda: FakePolicy(allow=["task"]))
    approver: Any = field(default_factory=ScriptedApprover)
    log: Log = field(default_factory=Log)
    sink: RecordingSink = field(default_factory=RecordingSink)
    kept: list[Kept] = field(default_factory=list)
    children: dict[str, ScriptedProvider] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    worlds: list[ToolContext] = field(default_factory=list)
    main_context: ToolContext | None = None

    def __post_init__(self) -> None:
        self.tools = CompositeSource()
        built_in = [kind(self.log) for kind in (Read, Write, Bash)]
        loaded = [t for t in load_tools(tools_dir(), source="test_sub").tools if t.name in KEPT_TOOLS]
        self.tools.add("bundled", ToolFileSource([*built_in, *loaded]))
        self.main_context = make_context(self.workspace)
        locks = PathLocks()
        self.agent = Agent(
            provider=self.main,
            rounds=Rounds(
                tools=self.tools,
                policy=self.policy,
                approver=self.approver,
                journal=NullJournal(),
                sink=self.sink,
                make_context=self._main_context,
                locks=locks,
            ),
            tools=self.tools,
            sink=self.sink,
            journal=NullJournal(),
            system="main",
            environment=_nowhere,
            limits=self.limits,
        )
        self.spawn = Subagents(
            parent=self.agent,
            types=self.types,
            shared=Shared(
                tools=self.tools,
                policy=self.policy,
                approver=self.approver,
                sink=self.sink,
                locks=locks,
                environment=_nowhere,
                skills=[("tidy", "Tidies.")],
            ),
            setting=self,
        )

    @asynccontextmanager
    async def provider(self, model: str) -> AsyncIterator[ScriptedProvider]:
        self.models.append(model)
        yield _Chooser(self)

    def transcript(self, call_id: str, title: str) -> Kept:
        self.kept.append(Kept(call_id, title))
        return self.kept[-1]

    def contexts(self) -> MakeContext:
        context = make_context(self.workspace)
        context.files = FileTracker()
        self.worlds.append(context)
        return lambda call_id, turn_id: replace(context, call_id=call_id, turn_id=turn_id)

    def child(self, words: str) -> ScriptedProvider:
        if words not in self.children:
            self.children[words] = ScriptedProvider(self.scripts[words])
        return self.children[words]

    def _main_context(self, call_id: str, turn_id: str) -> ToolContext:
        assert self.main_context is not None
        return replace(self.main_context, call_id=call_id, turn_id=turn_id, spawn=self.spawn)


class _Chooser(ScriptedProvider):
    """Passes a request on to the script of the prompt that began the conversation."""

    def __init__(self, world: SubWorld) -> None:
        super().__init__([])
        self._world = world

    def stream(self, request: Any) -> Any:
        words = "".join(getattr(block, "text", "") for block in request.messages[0].content)
        return self._world.child(words).stream(request)


KEPT_TOOLS = frozenset({"task", "question", "exit_plan_mode", "todowrite", "todoread", "skill"})


async def _nowhere() -> str:
    return ""


def task(prompt: str, *, agent: str = "general", call_id: str = "") -> Any:
    return use("task", {"description": f"do {prompt}", "prompt": prompt, "agent": agent}, call_id=call_id)


def make_sub_world(
    workspace: Path, main: Sequence[Reply], scripts: dict[str, Sequence[Reply]], **options: Any
) -> SubWorld:
    return SubWorld(workspace, scripts, ScriptedProvider(main), **options)


__all__ = ["SubWorld", "asyncio", "calls", "make_sub_world", "task", "text", "use"]

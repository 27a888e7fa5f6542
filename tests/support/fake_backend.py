import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import (
    ApprovalDecided,
    ApprovalRequested,
    AssistantFinished,
    Event,
    EventSink,
    RoundStarted,
    TextDelta,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    TurnCancelled,
    TurnFinished,
    TurnStarted,
)
from agent_tui.protocol.messages import AssistantMessage, TextBlock, TokenUsage
from agent_tui.protocol.permissions import (
    Approver,
    Decision,
    PermissionRequest,
    Verdict,
)
from agent_tui.protocol.replay import BlockKind, ReplayBlock, StoredText
from agent_tui.protocol.tools import ToolCall, TurnResult
from agent_tui.toolkit.context import Ask
from agent_tui.ui.backend import ModelsView, ModeName, RuleView, SessionView, StatusView, ToolView
from tests.support.fake_extensions import FakeExtensions
from tests.support.fake_house import FakeHouse
from tests.support.fake_mcp import FakeServerDesk
from tests.support.fake_own_commands import FakeOwnCommands
from tests.support.fake_past import FakePast
from tests.support.fake_talk import FakeRulings, FakeTalk

Step = Callable[["FakeBackend"], Awaitable[None]]


def say(text: str) -> Step:
    async def step(backend: "FakeBackend") -> None:
        for start in range(0, len(text), 7):
            await backend.emit(TextDelta(turn_id="t", text=text[start : start + 7]))
        message = AssistantMessage(content=(TextBlock(text=text),))
        await backend.emit(AssistantFinished(turn_id="t", message=message))

    return step


def emit(event: Event) -> Step:
    async def step(backend: "FakeBackend") -> None:
        await backend.emit(event)

    return step


def wait_for(gate: asyncio.Event) -> Step:
    async def step(_backend: "FakeBackend") -> None:
        await gate.wait()

    return step


def approve(
    *requests: PermissionRequest, settled: Sequence[PermissionRequest] = (), order: Sequence[str] = ()
) -> Step:
    async def step(backend: "FakeBackend") -> None:
        await backend.round(requests, settled=settled, order=order)

    return step


def fail(error: Exception) -> Step:
    async def step(_backend: "FakeBackend") -> None:
        raise error

    return step


class FakeBackend:
    """Plays scripted turns. `script` holds one list of steps per turn; a turn without one only echoes."""

    def __init__(
        self,
        workspace: Path,
        *,
        script: Sequence[Sequence[Step]] = (),
        blocks: Sequence[ReplayBlock] = (),
        status: StatusView | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.workspace = workspace
        self.script = deque(script)
        self.blocks = list(blocks)
        self.stored: dict[tuple[BlockKind, str], StoredText] = {}
        self.view = status or StatusView(
            provider="scripted",
            model="scripted-1",
            context_tokens=12_000,
            context_limit_tokens=200_000,
            session_id="s-1",
        )
        self._notices = list(notices)
        self.prompts: list[str] = []
        self.queue: list[tuple[str, bool]] = []
        self.left: list[str] = []
        self.kept_commands: list[str] = []
        self.verdicts: list[Mapping[str, Verdict]] = []
        self.answers: list[Sequence[Sequence[str]] | None] = []
        self.remembered: list[str] = []
        self.history: list[str] = []
        self.history_here: list[str] = []
        self.calls: list[str] = []
        self.ran: list[str] = []
        self.warmed = 0
        self.image_problem = ""
        self.models_problem = ""
        self.closed = False
        self.past = FakePast()
        self.house = FakeHouse(lambda event: self.emit(event))
        self.rulings = FakeRulings()
        self.extensions = FakeExtensions()
        self.own = FakeOwnCommands(self.run_turn)
        self.mcp = FakeServerDesk(self.run_turn)
        self.waits = False
        self.rule_views: list[RuleView] = []
        self.session_views: list[SessionView] = []
        self.full: dict[str, ReplayBlock] = {}
        self._talk = FakeTalk(self.calls)
        self._turn: asyncio.Task[None] | None = None
        self._cancelled = False

    def bind(self, *, sink: EventSink, approver: Approver, ask: Ask) -> None:
        self.emit, self.approver, self.ask = sink, approver, ask

    def notices(self) -> Sequence[str]:
        return self._notices

    def status(self) -> StatusView:
        return self.view

    async def replay(
        self, *, whole: bool = False, known: Sequence[ReplayBlock] = ()
    ) -> Sequence[ReplayBlock]:
        return self.blocks

    async def texts_since(self, offset: int) -> Mapping[tuple[BlockKind, str], StoredText]:
        return {key: place for key, place in self.stored.items() if place.offset >= offset}

    async def run_turn(self, text: str) -> TurnResult:
        self.prompts.append(text)
        self._cancelled = False
        await self.emit(TurnStarted(turn_id="t", prompt=text))
        steps = self.script.popleft() if self.script else [say(f"You said {text}.")]
        async with asyncio.TaskGroup() as group:
            self._turn = group.create_task(self._play(steps))
        self._turn = None
        if self._cancelled:
            await self.emit(TurnCancelled(turn_id="t"))
            return TurnResult(stop_reason="cancelled")
        await self.emit(TurnFinished(turn_id="t", stop_reason="end_turn", usage=TokenUsage()))
        return TurnResult()

    async def _play(self, steps: Sequence[Step]) -> None:
        try:
            for step in steps:
                await step(self)
        except asyncio.CancelledError:
            if not self._cancelled:
                raise

    async def redrive(self) -> TurnResult:
        self.calls.append("redrive")
        self.waits = False
        return TurnResult()

    def cancel_turn(self) -> None:
        self._cancelled = True
        self.calls.append("cancel_turn")
        if self._talk.gate is not None:
            self._talk.gate.set()
        if self._turn is not None:
            self._turn.cancel()

    async def round(
        self,
        requests: Sequence[PermissionRequest],
        *,
        settled: Sequence[PermissionRequest] = (),
        order: Sequence[str] = (),
    ) -> None:
        calls = tuple(ToolCall(call_id=r.call_id, name=r.tool) for r in requests)
        await self.emit(RoundStarted(turn_id="t", round_index=0, calls=calls))
        asked = ApprovalRequested(
            turn_id="t", requests=tuple(requests), settled=tuple(settled), order=tuple(order)
        )
        await self.emit(asked)
        verdicts = await self.approver.review(requests)
        self.verdicts.append(verdicts)
        await self.emit(ApprovalDecided(turn_id="t", verdicts=tuple(verdicts.values())))
        for request in requests:
            await self._answer(request, verdicts.get(request.call_id))

    async def _answer(self, request: PermissionRequest, verdict: Verdict | None) -> None:
        name = request.display_name or request.tool
        allowed = verdict is not None and all(p.decision is Decision.ALLOW for p in verdict.permissions)
        if not allowed:
            await self.emit(
                ToolDenied(
                    turn_id="t",
                    call_id=request.call_id,
                    tool=request.tool,
                    display_name=name,
                    title=request.title,
                    reason="denied by the person",
                )
            )
            return
        self.ran.append(request.call_id)
        await self.emit(
            ToolStarted(
                turn_id="t",
                call_id=request.call_id,
                tool=request.tool,
                display_name=name,
                title=request.title,
            )
        )
        await self.emit(
            ToolFinished(
                turn_id="t",
                call_id=request.call_id,
                tool=request.tool,
                display_name=name,
                title=request.title,
                is_error=False,
                output="done",
                display=DisplayResult(content="done", full_length=4, full_lines=1),
                elapsed_s=0.1,
            )
        )

    def warm_up(self) -> None:
        self.warmed += 1

    def steer(self, text: str) -> None:
        self.queue.append((text, False))

    def follow_up(self, text: str) -> None:
        self.queue.append((text, True))

    def queued(self) -> Sequence[tuple[str, bool]]:
        return list(self.queue)

    def take_back(self, index: int) -> str | None:
        return self.queue.pop(index)[0] if index < len(self.queue) else None

    def next_follow_up(self) -> str | None:
        return self.queue.pop(0)[0] if self.queue else None

    def keep_commands(self, typed: Sequence[str]) -> None:
        self.kept_commands = list(typed)

    def unsent(self) -> Sequence[str]:
        found, self.left = self.left, []
        return found

    def set_mode(self, mode: ModeName) -> str:
        self.view = replace(self.view, mode=mode)
        return ""

    async def set_model(self, name: str) -> str:
        self.view = replace(self.view, model=name)
        return f"The model is now {name}."

    async def models(self) -> ModelsView:
        if self.models_problem:
            return ModelsView(["scripted-1"], self.models_problem)
        return ModelsView(["scripted-1", "scripted-2", "other:big"])

    async def keep_image(self, path: str) -> str:
        self.calls.append(f"keep_image {path}")
        if self.image_problem:
            raise AgentTuiError(self.image_problem)
        return "img:1.png"

    async def open_images(self, *, call_id: str, prompt: str) -> str:
        self.calls.append(f"open_images {call_id or prompt}")
        return self.image_problem

    async def new_session(self) -> None:
        self.calls.append("new_session")
        self.blocks = []

    async def resume(self, session_id: str) -> str:
        self.calls.append(f"resume {session_id}")
        return ""

    async def sessions(self) -> Sequence[SessionView]:
        return self.session_views

    async def rename(self, name: str) -> None:
        self.calls.append(f"rename {name}")

    @property
    def talk(self) -> FakeTalk:
        return self._talk

    def tools(self) -> Sequence[ToolView]:
        return [
            ToolView("read", "Reads a file. With lines.", "bundled"),
            ToolView("bash", "Runs.", "bundled"),
        ]

    def rules(self) -> Sequence[RuleView]:
        return self.rule_views

    async def remove_rule(self, rule_id: str) -> str:
        self.rule_views = [rule for rule in self.rule_views if rule.rule_id != rule_id]
        return f"Removed {rule_id}."

    def check_command(self, command: str) -> str:
        return f"{command}: would ask"

    async def full_output(self, call_id: str) -> ReplayBlock | None:
        return self.full.get(call_id)

    def prompt_history(self, *, here: bool = False) -> Sequence[str]:
        return self.history_here if here else self.history

    def remember_prompt(self, text: str) -> None:
        self.remembered.append(text)

    parting = "Session kept. Go on with: agent-tui --resume s-1"

    async def aclose(self) -> None:
        self.closed = True

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.display import ChangePreview, DisplayResult, ResultContentType
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
    CommandPart,
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    RuleRef,
    Verdict,
)
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import ToolCall, TurnResult
from agent_tui.toolkit.context import Ask
from agent_tui.ui.backend import ModeName, RuleView, SessionView, StatusView, ToolView
from agent_tui.ui.changes import ChangeView, Comparison, Reverted
from agent_tui.ui.configuring import SettingsDesk
from agent_tui.ui.house import JobLine, Listing, TrustView
from agent_tui.ui.keeping import KeyView
from agent_tui.ui.past import MoveView, PointView
from agent_tui.ui.rulings import DecisionView, LastingScope
from agent_tui.ui.talk import DraftView, ShareView
from tests.support.fake_extensions import FakeExtensions
from tests.support.fake_mcp import FakeServerDesk
from tests.support.fake_own_commands import FakeOwnCommands

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


class FakeChanges:
    """Files that differ as in `differing`; a path in `mine` asks before it is taken back."""

    def __init__(self, calls: list[tuple[object, ...]]) -> None:
        self.differing: dict[str, list[ChangeView]] = {"turn": [], "session": [], "branch": []}
        self.mine: dict[str, str] = {}
        self.problem = ""
        self._calls = calls
        self._scope = "turn"

    async def compare(self, scope: str) -> Comparison:
        if self.problem:
            raise AgentTuiError(self.problem)
        self._scope = scope
        return Comparison("main (1a2b3c4)" if scope == "branch" else f"this {scope}", self.differing[scope])

    async def revert(self, path: str, hunk: int | None = None, *, sure: bool = False) -> Reverted:
        self._calls.append(("revert", path, hunk, sure))
        if path in self.mine and not sure:
            return Reverted(f"{path} was changed by hand.", asks=self.mine[path])
        self.differing[self._scope] = [c for c in self.differing[self._scope] if c.path != path]
        return Reverted(f"{path} is back.", done=True)

    async def undo_revert(self) -> str:
        self._calls.append(("undo_revert",))
        return "It is there again."


class FakePast:
    """A session with the prompts in `views`; what is asked of it is kept in `calls`."""

    def __init__(self) -> None:
        self.views: list[PointView] = []
        self.plan: list[ChangeView] = []
        self.redo_plan: list[ChangeView] | None = None
        self.too_large: list[str] = []
        self.excerpts: dict[str, str] = {}
        self.hits: list[str] = []
        self.calls: list[tuple[object, ...]] = []
        self.changes = FakeChanges(self.calls)

    async def points(self) -> Sequence[PointView]:
        return self.views

    async def uncovered(self) -> Sequence[str]:
        return self.too_large

    async def preview(self, entry_id: str) -> Sequence[ChangeView]:
        return self.plan

    async def preview_redo(self) -> Sequence[ChangeView] | None:
        return self.redo_plan

    async def rewind(
        self, entry_id: str, *, conversation: bool = True, files: bool = True, allowed: Collection[str] = ()
    ) -> MoveView:
        self.calls.append(("rewind", entry_id, conversation, files, tuple(allowed)))
        return MoveView("It went back.", conversation, f"prompt of {entry_id}" if conversation else "")

    async def redo(self, *, allowed: Collection[str] = ()) -> MoveView | None:
        self.calls.append(("redo", tuple(allowed)))
        return MoveView("It is back.", True)

    async def go_to(self, entry_id: str) -> MoveView:
        self.calls.append(("go_to", entry_id))
        return MoveView("Another branch.", True)

    async def label(self, entry_id: str, label: str) -> None:
        self.calls.append(("label", entry_id, label))

    async def fork(self, entry_id: str = "") -> str:
        self.calls.append(("fork", entry_id))
        return "copy-1"

    async def export(self, kind: str, path: str) -> str:
        self.calls.append(("export", kind, path))
        return f"Written to {path or kind}"

    async def export_picture(self, kind: str, path: str, svg: str) -> str:
        self.calls.append(("export_picture", kind, path, svg))
        return f"Written to {path or kind}"

    async def excerpt(self, session_id: str) -> str:
        return self.excerpts.get(session_id, "")

    async def rename(self, session_id: str, name: str) -> None:
        if name == "taken":
            raise AgentTuiError("The session is open in another program.")
        self.calls.append(("rename", session_id, name))

    async def search(self, text: str) -> Sequence[str]:
        return self.hits


class FakeRulings:
    def __init__(self) -> None:
        self.views: list[DecisionView] = []
        self.promoted: list[tuple[int, str]] = []

    def recent(self) -> Sequence[DecisionView]:
        return self.views

    def promote(self, number: int, scope: LastingScope) -> str:
        self.promoted.append((number, scope))
        return f"Kept for {scope}."


class FakeKeeping:
    """Remembers what is kept in `calls`; `problem` is raised instead."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.problem = ""
        self.views = [
            KeyView("anthropic", "the keyring", "ANTHROPIC_API_KEY"),
            KeyView("openai", "", "OPENAI_API_KEY"),
        ]

    def _said(self, *call: object) -> str:
        if self.problem:
            raise AgentTuiError(self.problem)
        self.calls.append(call)
        return f"Done: {' '.join(map(str, call))}"

    def add_rule(self, word: str, rule: str, keep: str) -> str:
        return self._said("add_rule", word, rule, keep)

    def forget_session_rules(self) -> str:
        return self._said("forget_session_rules")

    async def add_folder(self, path: str) -> str:
        return self._said("add_folder", path)

    def folders(self) -> Sequence[str]:
        return ["/proj", "/more"]

    async def change_folder(self, path: str) -> str:
        return self._said("change_folder", path)

    async def keys(self) -> Sequence[KeyView]:
        return self.views

    async def store_key(self, provider: str, key: str) -> str:
        return self._said("store_key", provider, key)

    async def forget_key(self, provider: str) -> str:
        return self._said("forget_key", provider)


class FakeHouse:
    """Surroundings as they are set here; what is asked of them is kept in `calls`."""

    def __init__(self, backend: "FakeBackend") -> None:
        self._backend = backend
        self.trust_view = TrustView()
        self.job_lines: list[JobLine] = []
        self.foreground = False
        self.tasks = ""
        self.memory_files = Listing()
        self.keeping = FakeKeeping()
        self.listing = Listing((("one", "The first. With more."),), ("/x/two: has no name",))
        self.gate: asyncio.Event | None = None
        self.calls: list[tuple[object, ...]] = []
        self.desk: SettingsDesk | None = None

    async def trust(self) -> TrustView:
        return self.trust_view

    async def accept_trust(self, digest: str) -> str:
        self.calls.append(("accept_trust", digest))
        return "It is trusted."

    async def revoke_trust(self) -> str:
        self.calls.append(("revoke_trust",))
        return "Not any more."

    def jobs(self) -> Sequence[JobLine]:
        return self.job_lines

    def todos(self) -> str:
        return self.tasks

    async def end_job(self, job_id: str) -> str:
        self.calls.append(("end_job", job_id))
        return f"{job_id} was ended."

    def to_background(self) -> bool:
        return self.foreground

    async def run_shell(self, command: str, *, private: bool) -> None:
        self.calls.append(("run_shell", command, private))
        started = {"turn_id": "", "call_id": f"shell-{len(self.calls)}", "tool": "bash", "title": command}
        name = "!!" if private else "!"
        await self._backend.emit(ToolStarted(display_name=name, **started))
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            shown = DisplayResult(content="shown\n", full_length=6, full_lines=1)
            await self._backend.emit(
                ToolFinished(display_name=name, is_error=False, output="shown", display=shown, **started)
            )

    @property
    def settings(self) -> SettingsDesk:
        assert self.desk is not None, "the test gave no settings files"
        return self.desk

    async def skills(self) -> Listing:
        return self.listing

    async def hooks(self) -> Listing:
        return Listing((("pre_tool bash", "./check (config.toml:3, 5 s, fails closed)"),))

    async def agents(self) -> Listing:
        return self.listing

    async def memory(self) -> Listing:
        return self.memory_files

    async def doctor(self) -> str:
        return "✓ python  3.11"


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
        self.verdicts: list[Mapping[str, Verdict]] = []
        self.answers: list[Sequence[Sequence[str]] | None] = []
        self.remembered: list[str] = []
        self.history: list[str] = []
        self.history_here: list[str] = []
        self.calls: list[str] = []
        self.ran: list[str] = []
        self.warmed = 0
        self.image_problem = ""
        self.closed = False
        self.past = FakePast()
        self.house = FakeHouse(self)
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

    async def replay(self) -> Sequence[ReplayBlock]:
        return self.blocks

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

    def set_mode(self, mode: ModeName) -> str:
        from dataclasses import replace

        self.view = replace(self.view, mode=mode)
        return ""

    async def set_model(self, name: str) -> str:
        from dataclasses import replace

        self.view = replace(self.view, model=name)
        return f"The model is now {name}."

    async def models(self) -> Sequence[str]:
        return ["scripted-1", "scripted-2", "other:big"]

    async def keep_image(self, path: str) -> str:
        self.calls.append(f"keep_image {path}")
        if self.image_problem:
            raise AgentTuiError(self.image_problem)
        return "img:1.png"

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
    def talk(self) -> "FakeTalk":
        return self._talk

    def tools(self) -> Sequence[ToolView]:
        return [
            ToolView("read", "Reads a file. With lines.", "bundled"),
            ToolView("bash", "Runs.", "bundled"),
        ]

    def rules(self) -> Sequence[RuleView]:
        return self.rule_views

    def remove_rule(self, rule_id: str) -> str:
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


class FakeTalk:
    """Remembers what is done with the context; `reply` is the last reply, `summary` what a draft gives."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.effort = ""
        self.reply = ""
        self.summary = "Goal: petals."
        self.pinned: list[str] = []

    def set_effort(self, effort: str) -> str:
        self.effort = effort
        return f"The effort is {effort}."

    def shares(self) -> Sequence[ShareView]:
        return [ShareView("system prompt", 1_500), ShareView("tools", 4_000), ShareView("messages", 6_500)]

    def last_reply(self) -> str:
        return self.reply

    async def aside(self, question: str) -> str:
        self.calls.append(f"aside {question}")
        return "Forty-two."

    async def draft(self, focus: str) -> DraftView:
        self.calls.append(f"draft {focus}".strip())
        return DraftView(self.summary, "" if self.summary else "There is too little to be summarised.")

    async def compact(self, summary: str) -> str:
        self.calls.append(f"compact {summary}".strip())
        return "Compacted from 12k to 3k tokens."

    async def draft_part(self, entry_id: str, side: str) -> DraftView:
        self.calls.append(f"draft {side} {entry_id}")
        return DraftView(self.summary, "" if self.summary else "There is too little to be summarised.")

    async def compact_part(self, entry_id: str, side: str, summary: str) -> str:
        self.calls.append(f"compact {side} {entry_id} {summary}")
        return "A summary stands there."

    async def undo_compaction(self) -> str:
        self.calls.append("undo_compaction")
        return "The compaction is taken back."

    async def pin(self, text: str) -> str:
        self.pinned.append(text)
        return "Pinned."

    def pins(self) -> Sequence[str]:
        return self.pinned


DIFF = """--- a/src/app.py
+++ b/src/app.py
@@ -1,4 +1,4 @@
 import sys

-def main() -> int:
+def main(argv: list[str]) -> int:
     return 0
@@ -20,3 +20,4 @@
 if __name__ == "__main__":
-    sys.exit(main())
+    arguments = sys.argv[1:]
+    sys.exit(main(arguments))
"""


def permission(
    kind: PermissionKind,
    target: str,
    *,
    id: str = "p0",
    pattern: str = "",
    risk: Risk = Risk.MEDIUM,
    reason: str = "",
) -> Permission:
    return Permission(id=id, kind=kind, target=target, pattern=pattern, risk=risk, reason=reason)


def edit_request(
    call_id: str,
    path: str = "src/app.py",
    *,
    diff: str = DIFF,
    hunks: int = 2,
    risk: Risk = Risk.MEDIUM,
    pattern: str = "Edit(/src/**)",
    origin: str = "",
    note: str = "",
) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="edit",
        display_name="Edit",
        title=path,
        permissions=(permission(PermissionKind.WRITE, f"/proj/{path}", pattern=pattern, risk=risk),),
        preview=ChangePreview(
            content=diff,
            content_type=ResultContentType.DIFF,
            path=path,
            full_length=len(diff),
            full_lines=diff.count("\n"),
            hunks=hunks,
            note=note,
        ),
        arguments_json='{"file_path": "src/app.py"}',
        origin=origin,
    )


def bash_request(
    call_id: str,
    command: str = "pytest -q",
    *,
    pattern: str = "Bash(pytest *)",
    risk: Risk = Risk.MEDIUM,
    reason: str = "",
    parts: tuple[CommandPart, ...] = (),
    extra: tuple[Permission, ...] = (),
) -> PermissionRequest:
    import json

    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="bash",
        display_name="Bash",
        title=command.split("\n")[0],
        permissions=(
            permission(PermissionKind.EXECUTE, command, pattern=pattern, risk=risk, reason=reason),
            *extra,
        ),
        parts=parts,
        arguments_json=json.dumps({"command": command}),
    )


def fetch_request(
    call_id: str, url: str, *, pattern: str = "WebFetch(domain:docs.example.com)"
) -> PermissionRequest:
    import json

    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="webfetch",
        display_name="Fetch",
        title=url,
        permissions=(permission(PermissionKind.NETWORK, url, pattern=pattern),),
        arguments_json=json.dumps({"url": url}),
    )


def tool_request(
    call_id: str, tool: str = "mcp__db__query", *, risk: Risk = Risk.MEDIUM
) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool=tool,
        display_name=tool,
        title="",
        permissions=(permission(PermissionKind.TOOL, tool, pattern=tool, risk=risk),),
        arguments_json='{"sql": "select 1", "limit": 5}',
    )


def settled_request(call_id: str, path: str, *, rule: str = "", denied: bool = False) -> PermissionRequest:
    decision = PermissionDecision(
        permission_id="p0",
        decision=Decision.DENY if denied else Decision.ALLOW,
        decided_by=DecidedBy.RULE,
        rule=RuleRef(text=rule, file="/home/me/config.toml", line=4),
    )
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="read",
        display_name="Read",
        title=path,
        permissions=(),
        decided=(decision,) if rule else (),
        arguments_json=f'{{"file_path": "{path}"}}',
    )


def mixed_round() -> list[PermissionRequest]:
    return [
        edit_request("c1", "src/app.py"),
        edit_request("c2", "src/cli.py", hunks=1),
        bash_request(
            "c3",
            "pytest -q && git push --force",
            pattern="",
            risk=Risk.HIGH,
            reason="pushes over what others have",
            parts=(
                CommandPart(argv=("pytest", "-q"), decision=Decision.ALLOW, why="allowed by Bash(pytest *)"),
                CommandPart(argv=("git", "push", "--force"), decision=Decision.ASK, why="changes a remote"),
            ),
        ),
        bash_request("c4", "ruff check src", pattern="Bash(ruff check *)", risk=Risk.LOW),
        fetch_request("c5", "https://docs.example.com/api?page=2"),
        tool_request("c6"),
        edit_request("c7", "../outside.txt", risk=Risk.HIGH, pattern="", origin="reviewer"),
    ]

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent_tui.executor.bounded import Workers
from agent_tui.executor.hooks import AfterCall, BeforeCall
from agent_tui.executor.registry import CompositeSource
from agent_tui.executor.rounds import Rounds
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.display import ChangePreview, DisplayResult
from agent_tui.protocol.errors import BaseChanged, ToolError
from agent_tui.protocol.permissions import (
    CommandPart,
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome, ToolResult
from agent_tui.sandbox.interface import Confinement
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.testing import RecordingJournal, RecordingSink, ScriptedApprover, make_context
from agent_tui.toolkit.tool import DisplayConfig, Tool


@dataclass(frozen=True)
class FakeReview:
    permissions: tuple[Permission, ...] = ()
    decided: tuple[PermissionDecision, ...] = ()
    asking: tuple[Permission, ...] = ()
    parts: tuple[CommandPart, ...] = ()
    denial: str = ""
    confinement: Confinement = Confinement()


class FakePolicy:
    """Asks for every write, command and foreign tool that no grant names; denies tools in `deny`."""

    def __init__(
        self, *, deny: Sequence[str] = (), allow: Sequence[str] = (), audit_fails: bool = False
    ) -> None:
        self.deny = set(deny)
        self.allow = set(allow)
        self.audit_fails = audit_fails
        self.grants: set[str] = set()
        self.recorded: list[tuple[PermissionRequest, Verdict]] = []
        self.edited: list[str] = []
        self.asks_nobody = False
        self.blocks: list[tuple[str, str]] = []
        self.reviewed: list[tuple[str, Path]] = []

    def review(
        self,
        *,
        tool: str,
        permissions: Sequence[Permission],
        readable: bool,
        needs_approval: bool,
        cwd: Path,
        vouched: str = "",
    ) -> FakeReview:
        self.reviewed.append((tool, cwd))
        if tool in self.deny:
            return FakeReview(
                tuple(permissions), denial=f"Permission denied for tool {tool} by rule deny {tool}"
            )
        asking = tuple(
            p for p in permissions if not self._granted(tool, p) and not (vouched and p.risk is not Risk.HIGH)
        )
        decided = tuple(
            PermissionDecision(permission_id=p.id, decision=Decision.ALLOW, decided_by=DecidedBy.RULE)
            for p in permissions
            if p not in asking
        )
        return FakeReview(tuple(permissions), decided, asking)

    def _granted(self, tool: str, permission: Permission) -> bool:
        if permission.kind is PermissionKind.READ:
            return permission.pattern in self.grants or not permission.target.startswith("/outside")
        return tool in self.allow or permission.pattern in self.grants

    def blocked(self, call: ToolCall, *, title: str, reason: str) -> None:
        self.blocks.append((call.call_id, reason))

    async def record(self, request: PermissionRequest, verdict: Verdict, *, edited: bool = False) -> None:
        if self.audit_fails:
            raise OSError("the audit file is gone")
        self.recorded.append((request, verdict))
        self.edited += [request.arguments_json] if edited else []
        for decision in verdict.permissions:
            if decision.decision is Decision.ALLOW and decision.scope is not Scope.ONCE:
                self.grants.add(decision.pattern)

    def confinement(self, request: PermissionRequest, verdict: Verdict) -> Confinement:
        return Confinement(write_dirs=tuple(Path(p.target) for p in request.permissions))


class Any_(BaseModel):
    path: str = ""
    text: str = ""
    command: str = ""
    how: str = ""


@dataclass
class Log:
    """What the fake tools did, in order."""

    lines: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    arrived: dict[str, asyncio.Event] = field(default_factory=dict)

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    def arrival(self, name: str) -> asyncio.Event:
        return self.arrived.setdefault(name, asyncio.Event())


def real(path: str, ctx: ToolContext) -> Path:
    return (ctx.workspace / path).resolve()


class Read(Tool[Any_]):
    """Waits at the gate named by `path`, when there is one."""

    name, description, params_type, readable = "read", "Reads.", Any_, True
    display = DisplayConfig[Any_]("Read", display_title=lambda p: p.path)

    def __init__(self, log: Log) -> None:
        self.log = log

    def permissions(self, params: Any_, ctx: ToolContext) -> Sequence[Permission]:
        return (
            Permission(id="r", kind=PermissionKind.READ, target=params.path, pattern=f"Read({params.path})"),
        )

    async def run(self, params: Any_, ctx: ToolContext) -> ToolResult:
        self.log.lines.append(f"start {ctx.call_id}")
        self.log.arrival(ctx.call_id).set()
        if ctx.call_id in self.log.gates:
            await self.log.gates[ctx.call_id].wait()
        self.log.lines.append(f"end {ctx.call_id}")
        return ToolResult.success(f"read {params.path}")


class Write(Tool[Any_]):
    """Writes `text` to `path`; `how` picks a fault."""

    name, description, params_type = "write", "Writes.", Any_
    display = DisplayConfig[Any_]("Write", display_title=lambda p: p.path)

    def __init__(self, log: Log) -> None:
        self.log = log

    def permissions(self, params: Any_, ctx: ToolContext) -> Sequence[Permission]:
        target = str(real(params.path, ctx))
        return (Permission(id="w", kind=PermissionKind.WRITE, target=target, pattern=f"Edit({params.path})"),)

    async def preview(self, params: Any_, ctx: ToolContext) -> DisplayResult | None:
        if params.how == "impossible":
            raise ToolError("this cannot work")
        if params.how == "preview-fault":
            raise ValueError("broken preview")
        if params.how == "preview-hangs":
            await asyncio.Event().wait()
        target = real(params.path, ctx)
        before = target.read_bytes() if target.exists() else None
        sha = hashlib.sha256(before).hexdigest() if before is not None else ""
        return ChangePreview(content=f"-{before!r}\n+{params.text}", bases={str(target): sha}, hunks=3)

    async def run(self, params: Any_, ctx: ToolContext) -> ToolResult:
        self.log.lines.append(f"start {ctx.call_id}")
        self.log.arrival(ctx.call_id).set()
        if ctx.call_id in self.log.gates:
            await self.log.gates[ctx.call_id].wait()
        if params.how == "late-change":
            raise BaseChanged(real(params.path, ctx))
        real(params.path, ctx).write_text(params.text)
        self.log.lines.append(f"end {ctx.call_id}")
        hunks = ctx.files.accepted_hunks(ctx.call_id)
        return ToolResult.success(f"wrote {params.path}" + (f" hunks {hunks}" if hunks is not None else ""))


class Bash(Tool[Any_]):
    """Notes the command; `cd X` moves the shell; `sleep` waits for ever."""

    name, description, params_type, interruptible = "bash", "Runs.", Any_, True
    display = DisplayConfig[Any_]("Bash", display_title=lambda p: p.command)

    def __init__(self, log: Log) -> None:
        self.log = log

    def permissions(self, params: Any_, ctx: ToolContext) -> Sequence[Permission]:
        risk = Risk.HIGH if params.command.startswith("rm") else Risk.MEDIUM
        found = [
            Permission(
                id="x",
                kind=PermissionKind.EXECUTE,
                target=params.command,
                pattern=f"Bash({params.command})",
                risk=risk,
            )
        ]
        if ">" in params.command:
            target = str(ctx.cwd / params.command.split(">")[1].strip())
            found.append(Permission(id="o", kind=PermissionKind.WRITE, target=target, risk=Risk.HIGH))
        return found

    async def run(self, params: Any_, ctx: ToolContext) -> ToolResult:
        self.log.lines.append(f"start {ctx.call_id}")
        self.log.arrival(ctx.call_id).set()
        await ctx.report(f"$ {params.command}")
        if params.command.startswith("cd "):
            ctx.shell.cwd = real(params.command[3:], ctx)
        if params.command == "sleep":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return ToolResult.error("printed so far")
        self.log.lines.append(f"end {ctx.call_id}")
        return ToolResult.success(
            f"ran {params.command}", data={"write_dirs": [str(p) for p in ctx.confinement.write_dirs]}
        )


class Faulty(Tool[Any_]):
    """Raises what `how` says."""

    name, description, params_type, readable, timeout_s = "faulty", "Fails.", Any_, True, 1

    display = DisplayConfig[Any_]("Faulty", display_title=lambda p: p.how)

    def __init__(self, log: Log) -> None:
        self.log = log

    def permissions(self, params: Any_, ctx: ToolContext) -> Sequence[Permission]:
        if params.how == "permissions":
            raise ValueError("cannot say")
        if params.how == "permissions-tool-error":
            raise ToolError("no such place")
        return ()

    async def run(self, params: Any_, ctx: ToolContext) -> ToolResult:
        self.log.lines.append(f"start {ctx.call_id}")
        self.log.arrival(ctx.call_id).set()
        match params.how:
            case "tool-error":
                raise ToolError("not today")
            case "exception":
                raise ValueError("x" * 1000)
            case "exit":
                raise SystemExit(3)
            case "cancelled":
                raise asyncio.CancelledError
            case "group":
                raise BaseExceptionGroup("g", [ValueError("one"), asyncio.CancelledError()])
            case "tool-error-group":
                raise ExceptionGroup("g", [ToolError("first"), ToolError("second")])
            case "error-result":
                return ToolResult.error("an error result")
            case "hang":
                await asyncio.Event().wait()
            case "deaf":
                while True:
                    try:
                        await self.log.gate("deaf").wait()
                        break
                    except asyncio.CancelledError:
                        continue
            case "long":
                return ToolResult.success("é" * 40_000)
            case "capped":
                return ToolResult.success("é" * 40_000, data={"output_capped": True})
            case _:
                pass
        return ToolResult.success("fine")


class Task(Tool[Any_]):
    name, description, params_type, interruptible = "task", "Sub-agent.", Any_, True
    display = DisplayConfig[Any_]("Task")

    def __init__(self, log: Log) -> None:
        self.log = log

    async def run(self, params: Any_, ctx: ToolContext) -> ToolResult:
        self.log.lines.append(f"start {ctx.call_id}")
        self.log.arrival(ctx.call_id).set()
        if ctx.call_id in self.log.gates:
            await self.log.gates[ctx.call_id].wait()
        self.log.lines.append(f"end {ctx.call_id}")
        return ToolResult.success("sub-agent done")


class Foreign(Tool[Any_]):
    name, description, params_type, readable = "mcp__server__probe", "Foreign.", Any_, True
    display = DisplayConfig[Any_]("Probe")

    def run(self, params: Any_, ctx: ToolContext) -> ToolResult:
        return ToolResult.success("foreign")


class Approver(ScriptedApprover):
    """A ScriptedApprover whose verdicts can be set one by one, per review."""

    def __init__(self, *reviews: Mapping[str, Verdict | None], **options: Any) -> None:
        super().__init__(**options)
        self._reviews = list(reviews)

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        verdicts = dict(await super().review(requests))
        special = self._reviews.pop(0) if self._reviews else {}
        for call_id, verdict in special.items():
            if verdict is None:
                verdicts.pop(call_id, None)
            else:
                base = verdicts[call_id]
                update = {name: getattr(verdict, name) for name in verdict.model_fields_set}
                verdicts[call_id] = base.model_copy(update=update)
        return verdicts


class Hooks:
    """Hooks by tool call id."""

    def __init__(
        self,
        before: Mapping[str, BeforeCall] | None = None,
        after: Mapping[str, AfterCall] | None = None,
        *,
        fail: str = "",
    ) -> None:
        self._before, self._after, self._fail = before or {}, after or {}, fail
        self.saw: list[str] = []

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        self.saw.append(f"before {call.call_id} {call.arguments_json}")
        if self._fail == "before":
            raise ValueError("hook broke")
        return self._before.get(call.call_id, BeforeCall())

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        self.saw.append(f"after {call.call_id} {len(result.output)}")
        if self._fail == "after":
            raise ValueError("hook broke")
        return self._after.get(call.call_id, AfterCall())


@dataclass
class RoundWorld:
    workspace: Path
    rounds: Rounds
    log: Log
    policy: FakePolicy
    approver: Any
    sink: RecordingSink
    journal: RecordingJournal
    context: ToolContext
    number: int = 0

    async def run(self, *calls: ToolCall, turn_id: str = "t0", **options: Any) -> BatchResult:
        self.number += 1
        return await self.rounds.run(calls, turn_id=turn_id, round_index=self.number - 1, **options)


def make_world(
    workspace: Path,
    *,
    approver: Any = None,
    policy: FakePolicy | None = None,
    journal: RecordingJournal | None = None,
    tools: Any = None,
    sink: Callable[[Any], Awaitable[None]] | None = None,
    **options: Any,
) -> RoundWorld:
    log, policy = Log(), policy or FakePolicy()
    approver, recording = approver or Approver(), RecordingSink()
    journal = journal or RecordingJournal()
    if tools is None:
        tools = CompositeSource()
        built_in = [kind(log) for kind in (Read, Write, Bash, Faulty, Task)]
        tools.add("bundled", ToolFileSource(built_in))
        tools.add("server", ToolFileSource([Foreign()], "server"), namespace="mcp")
    context = make_context(workspace)

    def contexts(call_id: str, turn_id: str) -> ToolContext:
        return replace(context, call_id=call_id, turn_id=turn_id)

    rounds = Rounds(
        tools=tools,
        policy=policy,
        approver=approver,
        journal=journal,
        sink=sink or recording,
        make_context=contexts,
        workers=Workers(end_grace_s=0.05),
        **options,
    )
    return RoundWorld(workspace, rounds, log, policy, approver, recording, journal, context)


def call(call_id: str, name: str = "read", **arguments: str) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments_json=json.dumps(arguments))


def effects(batch: BatchResult) -> dict[str, str]:
    return {outcome.tool_use_id: outcome.effect for outcome in batch.outcomes}


def output(batch: BatchResult, call_id: str) -> str:
    return outcome(batch, call_id).result.output


def outcome(batch: BatchResult, call_id: str) -> ToolCallOutcome:
    return next(item for item in batch.outcomes if item.tool_use_id == call_id)

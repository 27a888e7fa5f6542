"""Runs single tools without a model: `agent-tui tool`."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol, TextIO

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_tui.headless.exit_codes import ExitCode
from agent_tui.protocol.data import JsonObject, without_half_pairs
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.permissions import Decision, PermissionDecision, PermissionRequest, Verdict
from agent_tui.protocol.plain_reasons import first_misfit, unreadable
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome, ToolSpec

MAX_BATCH_BYTES = 100_000_000
MAX_LINE_CHARS = 10_000_000


class BatchLine(BaseModel):
    """One line of a batch: a tool's name and its arguments."""

    model_config = ConfigDict(extra="forbid")

    name: str
    input: dict[str, JsonValue] = {}


class RoundRunner(Protocol):
    """Runs the calls of one round."""

    async def run(self, calls: Sequence[ToolCall], *, turn_id: str, round_index: int) -> BatchResult: ...


class KeyboardApprover:
    """Allows everything when the person said --yes, else denies and keeps what was needed."""

    def __init__(self, *, yes: bool) -> None:
        self._yes = yes
        self.refused: list[PermissionRequest] = []

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Answer at once."""
        if not self._yes:
            self.refused += requests
        return {request.call_id: self._verdict(request) for request in requests}

    def _verdict(self, request: PermissionRequest) -> Verdict:
        decision = Decision.ALLOW if self._yes else Decision.DENY
        decisions = tuple(
            PermissionDecision(permission_id=p.id, decision=decision) for p in request.permissions
        )
        return Verdict(call_id=request.call_id, permissions=decisions, unasked=not self._yes)


async def run_calls(
    rounds: RoundRunner, approver: KeyboardApprover, calls: Iterable[ToolCall], *, out: TextIO
) -> ExitCode:
    """Run `calls` one after another in one context and print one JSON object per call.

    Gives the worst exit code: NOT_ASKED over FAILED over DONE.
    """
    worst = ExitCode.DONE
    for index, call in enumerate(calls):
        seen = len(approver.refused)
        batch = await rounds.run([call], turn_id=f"tool-{index}", round_index=index)
        refused = approver.refused[seen:]
        outcome = batch.outcomes[0]
        line = json.dumps(_object(outcome, refused), ensure_ascii=False)
        out.write(line.encode("utf-8", "replace").decode() + "\n")
        out.flush()
        worst = max(worst, _code(outcome, refused), key=_SEVERITY.index)
    return worst


_SEVERITY = [ExitCode.DONE, ExitCode.FAILED, ExitCode.NOT_ASKED]


def _code(outcome: ToolCallOutcome, refused: Sequence[PermissionRequest]) -> ExitCode:
    if refused:
        return ExitCode.NOT_ASKED
    return ExitCode.FAILED if outcome.result.is_error else ExitCode.DONE


def _object(outcome: ToolCallOutcome, refused: Sequence[PermissionRequest]) -> JsonObject:
    data: JsonObject = {
        "tool": outcome.tool_name,
        "content": outcome.result.output,
        "is_error": outcome.result.is_error,
        "display": outcome.display.model_dump(mode="json"),
        "summary": outcome.summary,
        "elapsed_s": round(outcome.elapsed_s, 3),
    }
    if refused:
        data["needs"] = [
            {"kind": p.kind.value, "target": p.target, "pattern": p.pattern, "risk": p.risk.value}
            for request in refused
            for p in request.permissions
        ]
        data["content"] = "This call needs a permission; run it again with --yes to allow what `needs` lists."
    return data


def read_batch(file: str) -> list[ToolCall]:
    """Read the calls of a file of JSON lines, "-" for standard input. Raises UsageError."""
    if file == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when the descriptor is closed
        raise UsageError("--batch -: there is no standard input")
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
            data = stream.read(MAX_BATCH_BYTES + 1)  # a device tells no size and may have no end
        if len(data) > MAX_BATCH_BYTES:
            raise UsageError(f"{file}: holds more than {MAX_BATCH_BYTES:,} bytes; make several batches of it")
        return parse_batch(data.decode("utf-8-sig"))
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--batch: {file!r} {unreadable(error)}") from error
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from error


def parse_batch(text: str) -> list[ToolCall]:
    """Read JSON lines `{"name", "input"}`. Raises ValueError that names the line (1-based) and the reason."""
    calls: list[ToolCall] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if len(line) > MAX_LINE_CHARS:
            raise ValueError(
                f"line {number}: has more than {MAX_LINE_CHARS:,} characters; write less in one call"
            )
        try:
            parsed = BatchLine.model_validate_json(without_half_pairs(line))
        except ValidationError as error:
            reason = first_misfit(error, whole="is no object")
            raise ValueError(
                f'line {number}: {reason}; expected {{"name": ..., "input": {{...}}}}'
            ) from error
        calls.append(
            ToolCall(
                call_id=f"line{number}",
                name=parsed.name,
                arguments_json=json.dumps(parsed.input, ensure_ascii=False),
            )
        )
    return calls


def list_tools(specs: Sequence[ToolSpec], *, out: TextIO) -> None:
    """Print one JSON object per tool: its name, description and schema."""
    for spec in specs:
        out.write(spec.model_dump_json() + "\n")

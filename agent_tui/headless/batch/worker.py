"""Runs one task where it is told to: a worktree, `agent-tui -p` in it, a diff. JSON goes in, JSON comes out."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_tui.headless.batch.worktree import Diff, Repository
from agent_tui.headless.exit_codes import ExitCode
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.json_text import parse_json
from agent_tui.toolkit.process import Ended, start_program

KEPT_BYTES = 20_000_000
ERROR_CHARS = 500

Status = Literal["done", "failed", "denied", "pending", "limit", "timeout", "retry", "stopped"]
UNFINISHED: tuple[Status, ...] = ("pending", "retry", "stopped")
"""What another run of the batch tries again."""


class Order(BaseModel):
    """What crosses to a worker. `worktree` and `session_id` are those of a task whose approvals waited, else ""."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    sha256: str
    repository: str
    mark: str
    commit: str
    flags: tuple[str, ...]
    timeout_s: float | None = None
    worktree: str = ""
    session_id: str = ""


class TaskResult(BaseModel):
    """What comes back: a line of the results. `worktree` is kept only for a task that waits for approvals."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    status: Status
    exit_code: int | None = None
    result: str = ""
    error: str = ""
    stop_reason: str = ""
    files: tuple[str, ...] = ()
    diff: str = ""
    diff_base64: str = ""
    diff_cut: bool = False
    denied: tuple[JsonValue, ...] = ()
    pending_approvals: tuple[str, ...] = ()
    usage: dict[str, int] = {}
    cost_usd: float | None = None
    provider: str = ""
    model: str = ""
    session_id: str = ""
    commit: str = ""
    worktree: str = ""
    duration_s: float = 0.0
    task_sha256: str = ""


class TryAgain(Exception):
    """The model's server stayed overloaded: the engine may try again. Its text is the result as JSON."""


def run_order(text: str) -> str:
    """Run an order in this process; for workers of an engine. Raises TryAgain."""
    done = asyncio.run(execute(Order.model_validate_json(text))).model_dump_json()
    if parse_json(done)["status"] == "retry":
        raise TryAgain(done)
    return done


async def execute(order: Order) -> TaskResult:
    """Run an order; whatever goes wrong is in the result. Cancelled, it ends the program and takes the worktree away."""
    started = time.monotonic()
    repository = Repository(Path(order.repository), order.mark)
    place = Path(order.worktree) if order.worktree else None
    keep = False
    try:
        place = place or await repository.add(order.commit)
        ran = await _run(order, place)
        done = _result(order, ran, await repository.diff(place, order.commit))
        if order.worktree and not ran.answer:  # it never came to the approvals: they still wait
            done = done.model_copy(update={"status": "pending", "session_id": order.session_id})
        keep = done.status == "pending"
        return done.model_copy(
            update={
                "worktree": str(place) if keep else "",
                "duration_s": round(time.monotonic() - started, 3),
            }
        )
    except (AgentTuiError, OSError, ValueError) as error:
        # OSError: no room for a worktree, too long a flag; ValueError: a flag with a NUL character
        return _failed(order, _said(error), started)
    finally:
        if place is not None and not keep:
            await asyncio.shield(repository.remove(place))


_GIT_PLACES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)
"""Variables that would lead git in a worktree back to the repository, as in a hook."""


@dataclass
class _Ran:
    """How the program ended. `ended` is None when its time was up."""

    ended: Ended | None
    printed: bytes
    answer: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


async def _run(order: Order, place: Path) -> _Ran:
    """Run the program in `place`; it ends with this one, even when this one is killed."""
    printed = bytearray()

    async def take(data: bytes) -> None:
        printed.extend(data)
        del printed[: max(0, len(printed) - KEPT_BYTES)]  # the answer is the last line

    # -P: a folder of the worktree that is called like a module of ours is not imported.
    argv = (sys.executable, "-P", "-m", "agent_tui", "--quiet", *order.flags)
    env = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
    command = await start_program(argv, cwd=place, env=env, sink=take)
    ended: Ended | None = None
    try:
        async with asyncio.timeout(order.timeout_s):
            ended = await command.wait()
    except TimeoutError:
        pass
    finally:
        if command.running:
            await asyncio.shield(command.end())
    return _Ran(ended, bytes(printed), _answer(bytes(printed)))


def _answer(printed: bytes) -> Mapping[str, JsonValue]:
    """Find the object that a run ends with among what it printed."""
    for line in reversed(printed.decode("utf-8", "replace").split("\n")):
        if line.startswith('{"type": "result"'):
            try:
                found: Mapping[str, JsonValue] = parse_json(line)
            except ValueError:
                continue
            return found
    return {}


_STATUSES: Mapping[int, Status] = {
    ExitCode.DONE: "done",
    ExitCode.NOT_ASKED: "denied",
    ExitCode.LIMIT: "limit",
    ExitCode.RETRY: "retry",
    ExitCode.INTERRUPTED: "stopped",
    ExitCode.TERMINATED: "stopped",
}


def _result(order: Order, ran: _Ran, diff: Diff) -> TaskResult:
    """Join what the program said with what it changed."""
    answer, ended = ran.answer, ran.ended
    code = ended.exit_code if ended is not None else None
    waiting = tuple(str(one) for one in _items(answer, "pending_approvals"))
    status: Status = "timeout" if ended is None else _STATUSES.get(code if code is not None else -1, "failed")
    if status == "denied" and waiting:
        status = "pending"
    error = str(answer.get("error") or "")
    if status == "timeout":
        error = f"it took more than {order.timeout_s:g} s"
    elif not error and status == "failed":
        error = (ended.failure if ended is not None else "") or _last_words(ran.printed)
    usage, cost = answer.get("usage"), answer.get("cost_usd")
    return TaskResult(
        id=order.id,
        task_sha256=order.sha256,
        commit=order.commit,
        status=status,
        exit_code=code,
        error=error,
        result=str(answer.get("result") or ""),
        stop_reason=str(answer.get("stop_reason") or ""),
        files=diff.files,
        diff=diff.text,
        diff_base64=diff.data,
        diff_cut=diff.cut,
        denied=tuple(_items(answer, "denied")),
        pending_approvals=waiting,
        usage={name: n for name, n in usage.items() if isinstance(n, int)} if isinstance(usage, dict) else {},
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
        provider=str(answer.get("provider") or ""),
        model=str(answer.get("model") or ""),
        session_id=str(answer.get("session_id") or ""),
    )


def _items(answer: Mapping[str, JsonValue], name: str) -> list[JsonValue]:
    value = answer.get(name)
    return value if isinstance(value, list) else []


def _last_words(printed: bytes) -> str:
    """Give the last line that a program printed: its sentence about what went wrong."""
    lines = [line for line in printed.decode("utf-8", "replace").split("\n") if line.strip()]
    return lines[-1].removeprefix("agent-tui: ")[:ERROR_CHARS] if lines else "it ended without a word"


def _said(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"it could not be run: {where}{error.strerror or error}"


def _failed(order: Order, error: str, started: float) -> TaskResult:
    return TaskResult(
        id=order.id,
        task_sha256=order.sha256,
        commit=order.commit,
        status="failed",
        error=error,
        duration_s=round(time.monotonic() - started, 3),
    )

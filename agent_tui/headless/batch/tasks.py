"""Reads the tasks of a batch: one JSON object a line, every fault with its file and line."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent_tui.permissions.modes import parse_mode
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import first_misfit

MAX_FILE_BYTES = 100_000_000
MAX_PROMPT_BYTES = 100_000
MAX_SHOWN_FAULTS = 10
_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class TaskDefaults(BaseModel):
    """What a task may say for itself and the command line for all that do not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str = ""
    model: str = ""
    provider: str = ""
    base_url: str = ""
    effort: Literal["", "low", "medium", "high", "max"] = ""
    permission_mode: str = ""
    on_approval: Literal["", "defer", "deny"] = ""
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_budget_usd: float | None = Field(default=None, gt=0)
    timeout_s: float | None = Field(default=None, gt=0)
    tools: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    append_system_prompt: str = ""

    @field_validator("permission_mode")
    @classmethod
    def _known_mode(cls, mode: str) -> str:
        return parse_mode(mode).value if mode else ""


class Task(TaskDefaults):
    """One line. `base` is the commit to start from; `repository` is relative to the folder of the tasks' file."""

    id: str = Field(pattern=_ID)
    prompt: str = Field(min_length=1)
    repository: str = ""


@dataclass(frozen=True)
class Read:
    """A task with its defaults filled in, its line and the hash of what it says."""

    task: Task
    line: int
    sha256: str


def read_tasks(file: Path, defaults: TaskDefaults) -> list[Read]:
    """Read all tasks. Raises UsageError that lists the faulty lines; then none counts."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise UsageError(f"{file}: holds more than {MAX_FILE_BYTES:,} bytes; make several batches of it")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8") from error
    found: list[Read] = []
    faults: list[str] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            task = _task(line, defaults)
            if task.id in lines:
                raise ValueError(f"id: {task.id!r} is the id of line {lines[task.id]} too")
            lines[task.id] = number
            found.append(Read(task, number, _sha256(task)))
        except ValueError as error:
            faults.append(f"{file}:{number}: {error}")
    if faults:
        more = f"\n... and {len(faults) - MAX_SHOWN_FAULTS} more" if len(faults) > MAX_SHOWN_FAULTS else ""
        raise UsageError("\n".join(faults[:MAX_SHOWN_FAULTS]) + more)
    if not found:
        raise UsageError(f'{file}: no task; a line is {{"id": ..., "prompt": ...}}')
    return found


def _task(line: str, defaults: TaskDefaults) -> Task:
    """Read one line. Raises ValueError with a sentence."""
    try:
        given: object = parse_json(line)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise ValueError('is no JSON object; expected {"id": ..., "prompt": ...}')
    try:
        task = Task.model_validate({**defaults.model_dump(exclude_defaults=True), **given})
    except ValidationError as error:
        raise ValueError(_fault(error)) from error
    if len(task.prompt.encode("utf-8", "replace")) > MAX_PROMPT_BYTES:
        raise ValueError(f"prompt: is longer than {MAX_PROMPT_BYTES:,} bytes; put it in a file and name that")
    for name, value in task:
        words = cast("tuple[str, ...]", value) if isinstance(value, tuple) else (str(value),)
        if any("\0" in word for word in words):
            raise ValueError(f"{name}: holds a NUL character")
    return task


def _fault(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            return f"{where}: is no field of a task{did_you_mean(where, Task.model_fields)}"
        case "missing":
            return f"{where}: is missing"
        case "string_pattern_mismatch":
            return f"{where}: {first['input']!r} is no id: letters, digits, '.', '_' and '-', at most 64"
        case _:
            return first_misfit(error)


def _sha256(task: Task) -> str:
    """Hash what decides the outcome: everything a task says but its id."""
    said = task.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def flags(task: Task, *, session_id: str = "") -> Sequence[str]:
    """Give the command line of `agent-tui` for a task; with `session_id` it goes on with approvals that waited."""
    given: list[tuple[str, object]] = [
        ("--resume", session_id),
        ("--model", task.model),
        ("--provider", task.provider),
        ("--base-url", task.base_url),
        ("--effort", task.effort),
        ("--permission-mode", task.permission_mode),
        ("--on-approval", (task.on_approval or "defer") if not session_id else ""),
        ("--max-turns", task.max_turns),
        ("--max-tokens", task.max_tokens),
        ("--max-budget-usd", task.max_budget_usd),
        ("--tools", task.tools),
        ("--append-system-prompt", task.append_system_prompt),
        *(("--allowed-tools", rule) for rule in task.allowed_tools),
        *(("--disallowed-tools", rule) for rule in task.disallowed_tools),
    ]
    chosen = [
        (flag, value)
        for flag, value in given
        if value not in ("", None) or (flag == "--tools" and value == "")
    ]
    words = [word for flag, value in chosen for word in (flag, str(value))]
    name = () if session_id else ("--name", f"batch {task.id}", "--", task.prompt)
    return ["-p", "--output-format", "json", *words, *name]

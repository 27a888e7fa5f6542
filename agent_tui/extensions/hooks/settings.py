"""Reads the hooks of settings files: `[[hooks.EVENT]]` tables, each with the file and line it stands in."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_tui.extensions.hooks.events import GUARDING, OTHER_NAMES, EventName
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import first_misfit

DEFAULT_TIMEOUT_S = 5.0
MAX_TIMEOUT_S = 60.0
MAX_FILE_BYTES = 1_048_576
PROJECT = "project"
"""The origin of hooks that count only while the project is trusted."""
_NEVER_CLOSED = frozenset({EventName.SESSION_START, EventName.SESSION_END, EventName.NOTIFICATION})
_WITH_TOOL = frozenset({EventName.PRE_TOOL, EventName.POST_TOOL, EventName.APPROVAL})


@dataclass(frozen=True)
class HookFile:
    """A settings file that may hold hooks. `origin` is "managed", "user" or "project"."""

    path: Path
    origin: str


@dataclass(frozen=True)
class HookSpec:
    """One hook of a settings file. `fault` says why it cannot be used, "" when it can.

    `matcher` holds globs for tool names, joined by `|`, without regard to case; "" is every tool. `line` is 1-based.
    """

    event: EventName
    command: str
    file: Path
    line: int
    origin: str
    matcher: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    fail_closed: bool = False
    fault: str = ""

    @property
    def where(self) -> str:
        """Give the place for people."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class FoundHooks:
    """What the files hold, in the order in which it runs, and a sentence for each thing that is wrong."""

    hooks: tuple[HookSpec, ...] = ()
    problems: tuple[str, ...] = ()


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    command: Annotated[str, Field(min_length=1)]
    matcher: str = ""
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S)] = DEFAULT_TIMEOUT_S
    fail_closed: bool | None = None


def find_hooks(files: Sequence[HookFile]) -> FoundHooks:
    """Read the hooks of all files, in their order. A file that is missing or no TOML has none: others name that."""
    hooks: list[HookSpec] = []
    problems: list[str] = []
    for file in files:
        text = _text(file.path)
        for name, tables in _events(text):
            event, lines = _event(name), _lines(text, name)
            if not name:
                problems.append(f"{file.path}: hooks: tables are expected: [[hooks.EVENT]] with a command")
                continue
            if event is None:
                where = f"{file.path}:{lines[0]}" if lines else file.path
                problems.append(f"{where}: hooks.{name}: there is no such event{_meant(name)}")
                continue
            for index, table in enumerate(tables):
                line = lines[index] if index < len(lines) else lines[-1] if lines else 1
                spec = _spec(event, table, file, line)
                hooks.append(spec)
                if spec.fault:
                    problems.append(f"{spec.where}: hooks.{name}: {spec.fault}")
    return FoundHooks(tuple(hooks), tuple(problems))


def _text(path: Path) -> str:
    if not path.is_file():  # opening a pipe would wait for a writer
        return ""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ""


def _events(text: str) -> Iterator[tuple[str, Sequence[object]]]:
    """Give each event with its tables; the name "" stands for hooks that are no tables at all."""
    try:
        table: object = tomllib.loads(text.replace("\r\n", "\n")).get("hooks")
    except (ValueError, RecursionError):
        return
    if table is None:
        return
    if not isinstance(table, dict):
        yield "", []
        return
    for name, value in cast("Mapping[str, object]", table).items():
        yield name, cast("Sequence[object]", value) if isinstance(value, list) else [value]


def _event(name: str) -> EventName | None:
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    return EventName(name) if name in list(EventName) else None


def _meant(name: str) -> str:
    others = f"; there are {', '.join(EventName)}"
    return did_you_mean(name, [*map(str, EventName), *OTHER_NAMES], otherwise=others)


def _lines(text: str, name: str) -> list[int]:
    """Give the 1-based lines where the tables of an event begin."""
    head = re.compile(rf"""\s*\[{{1,2}}\s*hooks\s*\.\s*["']?{re.escape(name)}["']?\s*\]""")
    return [number for number, line in enumerate(text.split("\n"), start=1) if head.match(line)]


def _spec(event: EventName, table: object, file: HookFile, line: int) -> HookSpec:
    """Give one hook. One that cannot be used still stands in its place, and fails closed where it would guard."""
    try:
        read = _Table.model_validate(table)
    except ValidationError as error:
        fault = first_misfit(error, whole="a table with a command is expected: [[hooks.EVENT]]")
        return HookSpec(event, "", file.path, line, file.origin, fail_closed=event in GUARDING, fault=fault)
    fault = ""
    if read.matcher and event not in _WITH_TOOL:
        fault = "matcher: this event has no tool to match"
    elif read.fail_closed and event in _NEVER_CLOSED:
        fault = "fail_closed: nothing can be held back at this event"
    return HookSpec(
        event=event,
        command=read.command,
        file=file.path,
        line=line,
        origin=file.origin,
        matcher=read.matcher,
        timeout_s=read.timeout_s,
        fail_closed=event in GUARDING if read.fail_closed is None else read.fail_closed,
        fault=fault,
    )

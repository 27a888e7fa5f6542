"""Commands of the bash tool: how one starts, what it prints, where it leaves the working directory."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.protocol.errors import SandboxError, ToolError
from agent_tui.protocol.private_file import write_private
from agent_tui.sandbox.interface import Launch, Profile
from agent_tui.toolkit.context import Report, ToolContext
from agent_tui.toolkit.environment import child_environment
from agent_tui.toolkit.output import OutputLog, log_path
from agent_tui.toolkit.process import Command, Ended, start_command

BASH = "/bin/bash"
# The kernel's limit for one argument (MAX_ARG_STRLEN), its end mark included.
COMMAND_LIMIT_BYTES = 131_071
LIVE_INTERVAL_S = 0.05
LIVE_CHARS = 8_000
NAME_CHARS = 100

# Runs before the text and must not be seen by it: the exit status is kept, nothing is printed, and xtrace of the
# text does not show it. NUL ends the directory; the jobs still running stand behind it.
BASH_ENV_TEXT = """\
unset BASH_ENV
trap '{ builtin printf "\\0%s\\0" "${PWD-}" >&9; builtin jobs -r >&9; builtin printf "\\0" >&9; } 2>/dev/null' EXIT
"""
_JOB_LINE = re.compile(r"^\[\d+\][+-]?\s+\S+\s+(.*?)(?:\s*&)?(?:\s+\(wd: .*\))?$")
_LOADER_FAULT = re.compile(r"error while loading shared libraries|symbol lookup error|ModuleNotFoundError")


@dataclass(frozen=True)
class ShellEnd:
    """How a bash text ended. `left` names what it left running, which was ended; `notes` are for the model."""

    exit_code: int | None
    left: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ShellCommand:
    """A running bash text. Make one with `start_shell`."""

    def __init__(self, text: str, ctx: ToolContext, log: OutputLog) -> None:
        self.text = text
        self.log = log
        self.started = time.monotonic()
        self.notes: list[str] = []
        self._ctx = ctx
        self._live = _LiveOutput(ctx.report)
        self._listener: Callable[[str], None] | None = None
        self._command: Command | None = None
        self._environment = child_environment(
            ctx.workspace, only_reads=ctx.confinement.profile is Profile.READ_ONLY
        )

    async def start(self, *, live: bool) -> None:
        """Start it. Raises ToolError."""
        cwd = self._starting_directory()
        variables = dict(self._environment.variables)
        try:
            variables["BASH_ENV"] = str(_bash_env(self._ctx.data_dir))
        except OSError as error:  # a full disk: what is needed to mend that must still run
            why = f"{error.strerror or error} at {self._ctx.data_dir}"
            self.notes.append(f"Where the command changed its directory to is not known: {why}.")

        def prepare(keep_fds: tuple[int, ...]) -> Launch:
            return self._ctx.sandbox.launch(
                (BASH, "-c", self.text),
                cwd=cwd,
                confinement=self._ctx.confinement,
                env=variables,
                keep_fds=keep_fds,
            )

        try:
            self._command = await start_command(prepare, self._take, report_directory=True)
        except (OSError, SandboxError) as error:
            raise ToolError(f"The command could not be started: {error}") from error
        if live:
            self._live.start()

    @property
    def command(self) -> Command:
        """The processes."""
        if self._command is None:
            raise RuntimeError("the command was not started")
        return self._command

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def listen(self, listener: Callable[[str], None]) -> None:
        """Give `listener` what is printed from now on, decoded."""
        self._listener = listener

    async def mute(self) -> None:
        """Stop live output: the call that showed it is over."""
        await self._live.stop()

    async def finish(self, ended: Ended, *, keeps_directory: bool = True) -> ShellEnd:
        """Close the output, take over the working directory and say how it went. Raises ToolError if it never ran."""
        await self._live.stop()
        await self.log.close()
        if ended.failure and ended.exit_code is not None:
            raise ToolError(f"The command could not be run: {ended.failure}")
        if ended.failure:
            self.notes.append(ended.failure)
        directory, jobs = _parse_report(ended.directory_report)
        if keeps_directory:
            self._move_to(directory)
        if self.log.file_note:
            self.notes.append(self.log.file_note)
        self._explain_fault()
        # Inside a sandbox the supervisor sees nothing by name; there the shell's own list of jobs has to do.
        names = ended.left or (jobs if keeps_directory else ())
        left = tuple(dict.fromkeys(name[:NAME_CHARS] for name in names))
        return ShellEnd(exit_code=_status(ended.exit_code), left=left, notes=tuple(self.notes))

    async def _take(self, chunk: bytes) -> None:
        text = self.log.take(chunk)
        self._live.add(text)
        if self._listener is not None:
            self._listener(text)  # before the file: whoever sees the text there finds that it was heard
        await self.log.keep()

    def _starting_directory(self) -> Path:
        cwd, root = self._ctx.shell.cwd, self._ctx.workspace
        if not root.is_dir():
            raise ToolError(f"The project directory {root} does not exist any more.")
        if cwd.is_dir() and _is_approved(cwd.resolve(), self._ctx):
            return cwd
        self._ctx.shell.cwd = root
        self.notes.append(
            f"the working directory {cwd} does not exist any more; now in the project root {root}"
        )
        return root

    def _move_to(self, directory: str) -> None:
        """Follow the command to `directory`, which it reported and which may be made up."""
        if not directory:
            return
        try:
            real = Path(directory).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            self._stay(f"{directory!r} does not exist any more")
            return
        if real == self._ctx.shell.cwd:
            return
        if not real.is_dir():
            self._stay(f"{directory!r} is not a directory")
        elif not _is_approved(real, self._ctx):
            self._stay(f"{real} is outside the project")
        else:
            self._ctx.shell.cwd = real

    def _stay(self, why: str) -> None:
        cwd = self._ctx.shell.cwd
        if not cwd.is_dir():
            cwd = self._ctx.shell.cwd = self._ctx.workspace
        self.notes.append(f"{why}; the working directory stays {cwd}")

    def _explain_fault(self) -> None:
        dropped = self._environment.dropped
        head, tail = self.log.plain.ends()
        if dropped and _LOADER_FAULT.search(head + tail):
            self.notes.append(f"commands do not get {', '.join(dropped)} from the environment of agent-tui")


async def start_shell(text: str, ctx: ToolContext, *, live: bool = True) -> ShellCommand:
    """Start `text` as `/bin/bash -c TEXT` in the sandbox of `ctx`, in its working directory.

    The text reaches bash byte for byte. `live` sends the output to `ctx.report` as it comes. Raises ToolError when
    the text cannot be an argument or nothing can be started.
    """
    _check(text)
    shell = ShellCommand(text, ctx, OutputLog(log_path(ctx.data_dir, ctx.call_id)))
    await shell.start(live=live)
    return shell


def _check(text: str) -> None:
    if not text.strip():
        raise ToolError("The command is empty.")
    if "\0" in text:
        raise ToolError("The command holds a NUL character, which no argument can hold.")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ToolError("The command holds a lone surrogate, which is no text.") from error
    if size > COMMAND_LIMIT_BYTES:
        raise ToolError(
            f"The command has {size:,} bytes, the limit is {COMMAND_LIMIT_BYTES:,}. Write it to a script file and run that."
        )


def _bash_env(data_dir: Path) -> Path:
    """Give the private start-up file, written anew if somebody changed it."""
    path = data_dir / "bash_env"
    try:
        if not path.is_symlink() and path.read_text("utf-8") == BASH_ENV_TEXT:
            return path
    except (OSError, UnicodeDecodeError):
        pass  # there is none yet, or not ours: it is replaced
    write_private(path, BASH_ENV_TEXT.encode(), waits=False)
    return path


def _is_approved(real: Path, ctx: ToolContext) -> bool:
    return any(real.is_relative_to(root) for root in (ctx.workspace, *ctx.extra_roots))


def _parse_report(report: bytes) -> tuple[str, Sequence[str]]:
    """Give the directory and the running jobs of the last complete report, ("", ()) when there is none."""
    parts = os.fsdecode(report).split("\0")
    if len(parts) < 4:
        return "", ()
    directory, listing = parts[-3], parts[-2]
    jobs = [match[1] for line in listing.splitlines() if (match := _JOB_LINE.match(line))]
    return directory if directory.startswith("/") else "", jobs


def _status(code: int | None) -> int | None:
    """Give the status as a shell names it: 128 + number for a signal."""
    return code if code is None or code >= 0 else 128 - code


def signal_note(exit_code: int | None) -> str:
    """Explain a status over 128, "" when there is nothing to explain."""
    if exit_code is None or not 128 < exit_code < 128 + signal.NSIG:
        return ""
    try:
        return f"killed by signal {exit_code - 128}, {signal.Signals(exit_code - 128).name}"
    except ValueError:
        return ""


class _LiveOutput:
    """Sends output on at most 20 times a second, and never more than the last 8,000 characters at once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._pending = ""
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._send_on())

    def add(self, text: str) -> None:
        if self._task is not None:
            self._pending = (self._pending + text)[-LIVE_CHARS:]
            self._due.set()

    async def stop(self) -> None:
        """Send what is pending and nothing more."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        await self._flush()

    async def _send_on(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            await self._flush()
            await asyncio.sleep(LIVE_INTERVAL_S)

    async def _flush(self) -> None:
        text, self._pending = self._pending, ""
        if text:
            await self._report(text)

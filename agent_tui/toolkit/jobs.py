"""Background commands of a session: started, read, ended; none outlives the session."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import JobView, ToolContext
from agent_tui.toolkit.line_filter import matching_lines
from agent_tui.toolkit.output import HeadTail
from agent_tui.toolkit.shell import ShellCommand, ShellEnd, start_shell
from agent_tui.toolkit.terminal_text import LineCollapser, strip_sequences

RUNNING_LIMIT = 16


class _Job:
    """One background command and what it printed since it was last read."""

    def __init__(self, job_id: str, shell: ShellCommand) -> None:
        self.job_id = job_id
        self.shell = shell
        self.end: ShellEnd | None = None
        self.failure = ""
        self.read_bytes = 0
        self._fresh = HeadTail()
        self._collapser = LineCollapser()
        shell.listen(self._hear)
        self._task = asyncio.create_task(self._follow())

    async def wait(self) -> None:
        """Wait until the command ended and its output is complete."""
        await asyncio.wait({self._task})
        self._task.result()

    def take(self) -> str:
        """Give what is new as the model reads it, and count it as read."""
        self._fresh.feed(strip_sequences(self._collapser.flush()))
        fresh, self._fresh = self._fresh, HeadTail()
        return fresh.text(where=self.shell.log.path)

    def tail(self, lines: int) -> str:
        """Give the last `lines` lines of everything it printed."""
        head, tail = self.shell.log.plain.ends()
        return "\n".join((tail or head).splitlines()[-lines:])

    def view(self, output: str = "") -> JobView:
        """Show the job with `output` as what is new."""
        return JobView(
            job_id=self.job_id,
            command=self.shell.text,
            running=self.end is None and not self.failure,
            exit_code=self.end.exit_code if self.end else None,
            output=output,
            log_path=self.shell.log.path,
        )

    def _hear(self, text: str) -> None:
        self._fresh.feed(strip_sequences(self._collapser.feed(text)))

    async def _follow(self) -> None:
        ended = await self.shell.command.wait()
        try:
            self.end = await self.shell.finish(ended, keeps_directory=False)
        except ToolError as error:
            self.failure = str(error)


class SessionJobs:
    """The background commands of one session, and the door through which a running call goes there."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._foreground: dict[str, asyncio.Event] = {}

    async def start(self, command: str, ctx: ToolContext) -> JobView:
        """Start `command` in the background. Raises ToolError."""
        self._check_room()
        shell = await start_shell(command, ctx, live=False)
        return self._add(shell).view()

    def adopt(self, shell: ShellCommand) -> JobView:
        """Take over a command that a call was waiting for; its output so far counts as read. Raises ToolError."""
        self._check_room()
        job = self._add(shell)
        job.read_bytes = shell.log.bytes
        return job.view()

    async def read(self, job_id: str, *, pattern: str = "") -> JobView:
        job = self._job(job_id)
        if job.end is None and not job.shell.command.running:
            await job.wait()
        start, job.read_bytes = job.read_bytes, job.shell.log.bytes
        fresh = job.take()
        if job.failure:
            raise ToolError(job.failure)
        if pattern:
            await job.shell.log.flush()
            fresh = await matching_lines(job.shell.log.path, pattern, start=start, end=job.read_bytes)
        return job.view(fresh)

    async def kill(self, job_id: str) -> JobView:
        job = self._job(job_id)
        await job.shell.command.end()
        await job.wait()
        return await self.read(job_id)

    def running(self) -> Sequence[JobView]:
        return [job.view() for job in self._jobs.values() if job.end is None and not job.failure]

    def all(self, *, tail_lines: int) -> Sequence[JobView]:
        """List every job, oldest first, with the last lines it printed; what the model reads next stays unread."""
        return [job.view(job.tail(tail_lines)) for job in self._jobs.values()]

    @contextmanager
    def in_foreground(self, call_id: str) -> Generator[asyncio.Event]:
        """Give the event that `to_background` sets while a call waits for its command."""
        asked = self._foreground[call_id] = asyncio.Event()
        try:
            yield asked
        finally:
            self._foreground.pop(call_id, None)

    def to_background(self, call_id: str = "") -> bool:
        """Let the running command of `call_id` (default: all) go on as a job; whether there was one."""
        asked = [event for key, event in self._foreground.items() if call_id in ("", key)]
        for event in asked:
            event.set()
        return bool(asked)

    async def close(self) -> None:
        """End every job and wait for them; for the end of the session."""
        for job in self._jobs.values():
            if job.shell.command.running:
                job.shell.command.begin_end(grace_s=0.5)
        for job in self._jobs.values():
            await job.shell.command.end(grace_s=0.5)
            await job.wait()

    def _add(self, shell: ShellCommand) -> _Job:
        job_id = f"job-{len(self._jobs) + 1}"
        shell.log.eager = True
        job = self._jobs[job_id] = _Job(job_id, shell)
        return job

    def _job(self, job_id: str) -> _Job:
        job = self._jobs.get(job_id)
        if job is None:
            known = ", ".join(self._jobs) or "none was started"
            raise ToolError(f"No job {job_id!r}; jobs: {known}.")
        return job

    def _check_room(self) -> None:
        if len(self.running()) >= RUNNING_LIMIT:
            raise ToolError(f"{RUNNING_LIMIT} jobs are running already; end one with bash_kill first.")

"""The program as plain lines: it reads messages, runs turns and commands, and leaves the terminal as it was."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agent_tui import __version__
from agent_tui.protocol.errors import AgentTuiError, NothingThereError
from agent_tui.protocol.events import ApprovalRequested, Event
from agent_tui.protocol.numbers import whole_number
from agent_tui.protocol.slash_line import without_escape
from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.commands.house import offer_trust
from agent_tui.ui.commands.registry import Command, CommandHost, Level, Registry
from agent_tui.ui.crash import write_crash
from agent_tui.ui.driver import TurnDriver
from agent_tui.ui.linear.approver import LinearApprover
from agent_tui.ui.linear.host import LinearHost
from agent_tui.ui.linear.lines import GRACE_S, Lines
from agent_tui.ui.linear.questions import ask_questions
from agent_tui.ui.linear.speaker import Speaker
from agent_tui.ui.plugged import ExtensionDesk
from agent_tui.ui.screens.approval.grouping import Grouper
from agent_tui.ui.unsent import offer_unsent

if TYPE_CHECKING:
    from agent_tui.toolkit.context import Question
    from agent_tui.ui.backend import Backend

TWICE_S = 2.0
CLOSE_S = 2.0
_LEAVING = ("exit", "quit", ":q")
_GREETING = "agent-tui {version}, plain lines. /help lists commands; Ctrl+C stops; Ctrl+D leaves."


class LinearProgram:
    """Holds the parts together. `load` builds the core; a load that fails is one sentence and exit code 1."""

    def __init__(
        self,
        load: Callable[[], Awaitable[Backend]],
        *,
        fd: int | None = None,
        out: TextIO | None = None,
        crash_log: Path | None = None,
        initial_prompt: str = "",
        greeting: str = "",
        grace_s: float = GRACE_S,
        verbose: bool = False,
        commands: Sequence[Command] = (),
    ) -> None:
        self._load = load
        self._crash_log = crash_log
        self._initial = initial_prompt
        self._greeting = greeting
        self._fd = sys.stdin.fileno() if fd is None else fd
        self.lines = Lines(
            self._fd, out or sys.stdout, on_line=self._line, on_end=self._leave, grace_s=grace_s
        )
        self.speaker = Speaker(self.lines, self.give_back, verbose=verbose)
        self.registry = Registry([*builtin_commands(), _output_command(self), *commands])
        self.driver = TurnDriver(self)
        self.host = LinearHost(
            self.lines,
            self.speaker,
            self.registry,
            driver=self.driver,
            backend=lambda: self.backend,
            leave=self._leave,
            work=self._work,
        )
        self._backend: Backend | None = None
        self._approver: LinearApprover | None = None
        self._over = asyncio.Event()
        self._stop_asked = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell: list[asyncio.Task[None]] = []
        self._group: asyncio.TaskGroup | None = None
        self._draft = ""
        self._attached = ""
        self._interrupted_at = float("-inf")
        self._code = 0

    @property
    def backend(self) -> Backend:
        """The core. Raises AgentTuiError while it loads."""
        if self._backend is None:
            raise AgentTuiError("The program is still starting; try again in a moment.")
        return self._backend

    def attach(self, mentions: str) -> None:
        """Let mentions go along with the first message."""
        self._attached = mentions

    # Start and end

    async def run(self) -> int:
        """Serve until the person leaves; give the exit code."""
        self.lines.say(_GREETING.format(version=__version__))
        if self._greeting:
            self.lines.say(self._greeting)
        self.lines.start()
        self._watch_signals()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._begin())
                group.create_task(self._stopper())
                await self._over.wait()
                await self._close()
                for task in [*self._tasks]:
                    task.cancel()
                self._stop_asked.set()
        finally:
            self.lines.stop()
            self._forget_signals()
        return self._code

    async def _begin(self) -> None:
        try:
            backend = await self._load()
        except AgentTuiError as error:
            self.lines.say(f"Error: {error}")
            self._give_up()
            return
        except Exception as error:  # whatever the start of the core runs into must end in one sentence
            self.report_bug(error)
            self._give_up()
            return
        self._backend = backend
        grouper = Grouper(backend.workspace, Path.home())
        self._approver = LinearApprover(self.lines, grouper, self._stop_asked)
        backend.bind(sink=self._take, approver=self._approver, ask=self._ask)
        for text in backend.notices():
            self.lines.say(f"Note: {text}")
        await self.host.show_session()
        status = backend.status()
        self.lines.say(f"Model {status.provider}:{status.model}, mode {status.mode}.")
        self._work(self._ready)

    def _give_up(self) -> None:
        if self.driver.early:
            self.lines.say("\n".join(("Not sent:", *self.driver.early)))
        self._leave(1)

    async def _ready(self) -> None:
        await offer_trust(self.host)
        ExtensionDesk(
            self.host,
            self.backend.extensions,
            registry=self.registry,
            send=lambda text: self.driver.send(text, after_turn=True),
            attend=lambda _text: None,
            joined=lambda: None,
        )
        self.driver.use(self.backend)
        offer_unsent(self, self.backend.unsent())
        if self._attached and not self._initial:
            self.lines.say(f"Note: With your first message goes: {self._attached}")
        if self._initial:
            self.lines.say(f"You: {self._initial}")
            self._line(self._initial)
        self.driver.catch_up(self._line)

    async def _close(self) -> None:
        self.driver.stop()
        self.lines.no_answer(is_over=True)
        if self._backend is None:
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._backend.aclose()
        except TimeoutError:
            pass  # leaving never waits longer
        except Exception as error:  # the core's end must not keep the person in the program
            write_crash(self._crash_log, error)
        if parting := self._backend.parting:
            self.lines.say(parting)

    def _leave(self, code: int = 0) -> None:
        self._code = self._code or code
        self._over.set()

    # Signals

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            loop.add_signal_handler(number, self._leave, code)

    def _forget_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        """Stop what runs; where nothing runs, leave at the second time within two seconds."""
        self._draft = ""
        asked = self.lines.is_asking
        self.lines.no_answer()
        shell = [task for task in self._shell if not task.done()]
        for task in shell:
            task.cancel()
        if self.driver.busy or (self.driver.is_taken and not asked):
            self.lines.say("Stopping.")
            self.driver.stop()
        elif not asked and not shell:
            now = time.monotonic()
            if now - self._interrupted_at < TWICE_S:
                self._leave()
                return
            self._interrupted_at = now
            self.lines.say("Press Ctrl+C again to leave.")
            self._prompt()

    async def _stopper(self) -> None:
        """Stop the turn when a review asks for it."""
        while not self._over.is_set():
            await self._stop_asked.wait()
            self._stop_asked.clear()
            self.driver.stop()

    # Lines

    def _line(self, text: str) -> None:
        """Take a line that no question waits for."""
        if text.endswith("\\") and not text.endswith("\\\\"):
            self._draft += f"{text[:-1]}\n"
            self.lines.write("more: ")
            return
        text, self._draft = self._draft + text, ""
        if not self.driver.is_ready:
            self.driver.wait_for_core(text)
            return
        try:
            self._submit(text)
        except AgentTuiError as error:
            self.lines.say(f"Error: {error}")
        self._prompt()

    def _submit(self, text: str) -> None:
        stripped = text.strip()
        if not stripped:
            return
        if stripped in _LEAVING:
            self._leave()
            return
        self.backend.remember_prompt(text)
        parsed = self.registry.parse(text)
        if parsed is not None:
            self._command(parsed.command, parsed.word, parsed.args)
        elif stripped.startswith("!"):
            self._run_shell(stripped)
        else:
            plain = " ".join(filter(None, (without_escape(text), self._attached)))
            self._attached = ""
            if self.driver.busy:
                self.lines.say("Queued; it reaches the model at the next safe point.")
            elif self.driver.is_taken:
                self.lines.say("Queued; it is sent when the command is over.")
            self.speaker.typed(plain)
            self.driver.send(plain)

    def _command(self, command: Command | None, word: str, args: str) -> None:
        if command is None:
            self.lines.say(self.registry.unknown(word))
        elif command.needs_args and not args:
            self.lines.say(f"Write /{command.name} {command.usage}.")
        elif self.driver.is_taken and not command.while_busy:
            self.lines.say(f"That waits for the end of the {'turn' if self.driver.busy else 'command'}.")
            self.driver.after_turn(command, args)
        else:
            self.run_command(command, args)

    def _run_shell(self, text: str) -> None:
        command = text.lstrip("!").strip()
        if command:
            run = partial(self.backend.house.run_shell, command, private=text.startswith("!!"))
            self._shell = [*(task for task in self._shell if not task.done()), self._work(run)]

    def _prompt(self) -> None:
        """Invite the next message, unless something runs or asks."""
        idle = self._backend is not None and not self.driver.busy and not self._tasks
        if idle and not self.lines.is_asking and not self._over.is_set():
            self.lines.write("You: ")

    # Work beside the reading of lines

    def _work(
        self, job: Callable[[], Awaitable[None]], *, then: Callable[[], None] | None = None
    ) -> asyncio.Task[None]:
        async def guarded() -> None:
            try:
                await job()
            except NothingThereError as error:
                self.lines.say(str(error))
            except AgentTuiError as error:
                self.lines.say(f"Error: {error}")
            except Exception as error:  # the core or a command failed: one line, not the program
                self.report_bug(error)
            finally:
                if then is not None:
                    then()

        assert self._group is not None  # lines are read only while the group is open
        task = self._group.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._worked)
        return task

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._prompt()

    async def _take(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested) and self._approver is not None:
            self._approver.announce(event.order, event.settled)
        await self.speaker(event)

    async def _ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        return await ask_questions(self.lines, questions)

    # DriverHost

    def run_turn_in_worker(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a turn beside the reading of lines."""
        self._work(work)

    def notice(self, level: Level, text: str) -> None:
        """Say a sentence."""
        self.host.notice(level, text)

    def give_back(self, prompt: str) -> None:
        """Say the words again, unless a series wrote them: a line that was read cannot be put back."""
        if not self.driver.is_of_series(prompt):
            self.lines.say(f"You had written: {prompt}")

    def turn_began(self) -> None:
        """The speaker says so itself."""

    def turn_over(self) -> None:
        """The next prompt is invited when the turn's task has ended."""

    def queue_changed(self) -> None:
        """What is queued was said when it was written."""

    def run_command(self, command: Command, args: str) -> None:
        """Run a slash command."""
        self._work(partial(command.run, self.host, args), then=self.driver.hold_for(command))

    def report_bug(self, error: Exception) -> None:
        """Write a traceback to the log and say one line."""
        self.lines.say(f"Error: {write_crash(self._crash_log, error)}")


def _output_command(program: LinearProgram) -> Command:
    async def output(host: CommandHost, args: str) -> None:
        call_id = program.speaker.call_id(whole_number(args) or 0)
        block = await host.backend.full_output(call_id) if call_id else None
        if block is None:
            host.notice("warning", f"There is no output of a tool {args or '(no number given)'}.")
        else:
            await host.view(block)

    return Command(
        "output", "read out the whole result of a tool", output, usage="N", needs_args=True, while_busy=True
    )


def run_linear(program: Callable[[], LinearProgram]) -> int:
    """Run the program in an event loop of its own and give the exit code."""

    async def run() -> int:
        return await program().run()

    with contextlib.suppress(BrokenPipeError):
        return asyncio.run(run())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # silent at the interpreter's last flush
    return 1

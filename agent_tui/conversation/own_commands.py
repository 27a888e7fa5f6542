"""Runs the commands that files describe, and skills, as the person calls them: their shell lines, then their turn."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from agent_tui.agent.loop import Agent
from agent_tui.agent.stop import StopSwitch, TurnStopped
from agent_tui.conversation.lent_rules import lent_rules
from agent_tui.conversation.stops import Stops
from agent_tui.executor.rounds import Rounds
from agent_tui.extensions.command_text import Piece, joined, pieces
from agent_tui.extensions.commands import CommandFile, CommandLibrary
from agent_tui.extensions.skills import Skill, SkillLibrary
from agent_tui.permissions.grammar import Rule
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.errors import AgentTuiError, ToolError
from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.slash_line import slash_line
from agent_tui.protocol.tools import BatchResult, ToolCall, ToolCallOutcome, TurnResult
from agent_tui.providers.base import Provider
from agent_tui.sessions.session import Session
from agent_tui.ui.own_commands import OwnCommand

BASH = "bash"
_RAN = frozenset({"ran", "failed", "timeout"})


@dataclass(frozen=True)
class Typed:
    """A prompt. One that a command made has `shown`, what the person wrote, and `own_words`, what may point at files.

    `beside` goes along below it: what was piped in or attached, of which nothing is a mention.
    """

    text: str
    shown: str | None = None
    own_words: str | None = None
    beside: str = ""
    images: Sequence[ImageBlock] = ()

    @property
    def whole(self) -> str:
        """What the model gets."""
        return "\n\n".join(filter(None, (self.text, self.beside)))

    @property
    def words(self) -> str:
        """What may point at files."""
        return self.text if self.own_words is None else self.own_words


class Inside(Protocol):
    """What a command needs of the open session."""

    @property
    def agent(self) -> Agent: ...

    @property
    def record(self) -> Session: ...

    @property
    def rounds_for(self) -> Callable[[str], Rounds]:
        """Give rounds beside the conversation for the shell lines of a command, which is named."""
        ...


@dataclass(frozen=True)
class _Own:
    """A command or a skill under the names it is called by."""

    name: str
    longer: str
    file: CommandFile | Skill

    def shown(self) -> OwnCommand:
        file = self.file
        if isinstance(file, CommandFile):
            source = "project" if file.origin == "project" else "yours"
        else:
            source = "skill of the project" if file.origin == "project" else "skill of yours"
        return OwnCommand(self.name, self.longer, file.description, file.argument_hint, source)


class _Unsent(Exception):
    """The prompt of a command was not sent; the text says why."""


class SessionCommands:
    """Implements `ui.own_commands.OwnCommands` for whatever session is open.

    `turn` runs a turn, `connect` a model by name, `counts` tells whether the project is trusted as it is now. `stops`
    reach a command before its turn begins.
    """

    def __init__(
        self,
        *,
        library: CommandLibrary,
        skills: SkillLibrary,
        policy: Policy,
        inside: Callable[[], Inside],
        turn: Callable[[Typed], Awaitable[TurnResult]],
        connect: Callable[[str], Provider],
        counts: Callable[[], bool],
        stops: Stops,
    ) -> None:
        self._library = library
        self._skills = skills
        self._policy = policy
        self._inside = inside
        self._turn = turn
        self._connect = connect
        self._counts = counts
        self._stops = stops
        self._rounds: Rounds | None = None

    async def all(self) -> Sequence[OwnCommand]:
        return [own.shown() for own in await asyncio.to_thread(self._find)]

    async def problems(self) -> Sequence[str]:
        found = await asyncio.to_thread(self._library.find)
        skills = await asyncio.to_thread(self._skills.find)
        wrong = [text for file in (*found.commands, *skills.skills) for text in lent_rules(file)[1]]
        return [*(str(fault) for fault in found.faults), *wrong]

    async def named(self, text: str) -> tuple[str, str] | None:
        """Read a prompt as a call of one of these commands: (name, arguments); None when it is none."""
        line = slash_line(text)
        own = await self._own(line[0]) if line is not None else None
        return None if line is None or own is None else (own.longer, line[1])

    async def unknown(self, text: str, *, others: Sequence[str] = ()) -> str:
        """Say that `text` calls a command that is none of these and of `others`; "" for any other text.

        For faces other than the screen, which has commands of its own.
        """
        line = slash_line(text)
        if line is None:
            return ""
        listed = await asyncio.to_thread(self._find)
        names = [*others, *(own.name for own in listed), *(own.longer for own in listed)]
        if line[0].lower() in names:
            return ""
        if await asyncio.to_thread(_has_screen, line[0].lower()):
            said = f"/{line[0]} belongs to the screen: agent-tui opened in a terminal has it."
        else:
            meant = did_you_mean(f"/{line[0]}", [f"/{name}" for name in names], otherwise=" here", end=".")
            said = f"There is no command /{line[0]}{meant}"
        return f"{said} To send it as text, begin with two slashes."

    def cancel(self) -> None:
        """Stop the shell lines that run now. Without any it does nothing."""
        if self._rounds is not None:
            self._rounds.cancel()

    async def run(
        self, name: str, args: str, *, beside: str = "", images: Sequence[ImageBlock] = ()
    ) -> TurnResult:
        with self._stops.watched() as switch:
            return await self._run(name, args.strip(), beside, images, switch)

    async def _run(
        self, name: str, args: str, beside: str, images: Sequence[ImageBlock], switch: StopSwitch
    ) -> TurnResult:
        own = await self._own(name)
        if own is None:
            return await self._stops.failed(
                f"/{name} {args}".strip(),
                f"there is no command /{name} any more; /commands lists those there are.",
            )
        shown = f"/{own.name} {args}".strip()
        try:
            switch.check()
            with self._policy.lending(await self._lent(own.file)):
                switch.check()
                text, words = await self._prompt(own, args, switch)
                async with self._model(own.file):
                    switch.check()
                    return await self._turn(Typed(text, shown, words, beside, images))
        except TurnStopped:
            return await self._stops.not_sent(shown)
        except (_Unsent, AgentTuiError, ToolError) as error:
            return await self._stops.failed(shown, str(error))
        finally:
            await self._inside().record.shell_lines_over()

    def _find(self) -> list[_Own]:
        """List commands, then skills, nearest first; of two with one name the first keeps it."""
        files: list[CommandFile | Skill] = [*self._library.find().commands, *self._skills.find().skills]
        found: dict[str, _Own] = {}
        names: set[str] = set()
        for file in files:
            longer = f"{file.origin}:{file.name}"
            if longer not in found:
                found[longer] = _Own(longer if file.name in names else file.name, longer, file)
                names.add(file.name)
        return list(found.values())

    async def _own(self, name: str) -> _Own | None:
        wanted = name.lower()
        found = await asyncio.to_thread(self._find)
        return next((own for own in found if wanted in (own.name, own.longer)), None)

    async def _lent(self, file: CommandFile | Skill) -> Sequence[Rule]:
        """Give the allow rules of a command; those of a project only while it is trusted as it is."""
        if file.origin == "project" and not await asyncio.to_thread(self._counts):
            return ()
        return lent_rules(file)[0]

    async def _prompt(self, own: _Own, args: str, switch: StopSwitch) -> tuple[str, str]:
        """Give the whole prompt, and of it what a person wrote. Raises _Unsent, TurnStopped, ToolError."""
        if isinstance(own.file, Skill):
            text = await asyncio.to_thread(self._skills.load, own.file.name, args)
            return text, args
        parts = pieces(own.file.body, args)
        outputs = await self._outputs(own.name, [part for part in parts if part.is_shell], switch)
        text = joined(parts, outputs)
        if not text:
            raise _Unsent("its text is empty")
        return text, "\n".join(part.text for part in parts if not part.is_shell)

    async def _outputs(self, name: str, lines: Sequence[Piece], switch: StopSwitch) -> list[str]:
        """Run the shell lines as one round: asked about once, by the rules that hold for the model's calls."""
        if not lines:
            return []
        token = secrets.token_hex(4)
        calls = [
            ToolCall(
                call_id=f"command-{token}-{number}",
                name=BASH,
                arguments_json=json.dumps({"command": line.text}),
            )
            for number, line in enumerate(lines, start=1)
        ]
        self._rounds = self._inside().rounds_for(f"/{name}")
        try:
            batch = await self._rounds.run(calls, turn_id=f"command-{token}", round_index=0)
        finally:
            self._rounds = None
        self._inside().record.behind_prompt(name, batch.outcomes)
        return _texts(batch, stopped=switch.pressed)

    @asynccontextmanager
    async def _model(self, file: CommandFile | Skill) -> AsyncGenerator[None]:
        """Let another model answer this one turn. Raises AgentTuiError."""
        name = file.model if isinstance(file, CommandFile) else ""
        if not name:
            yield
            return
        agent = self._inside().agent
        own = await asyncio.to_thread(self._connect, name)
        before, agent.provider = agent.provider, own
        try:
            yield
        finally:
            if agent.provider is own:
                agent.provider = before
            await own.aclose()


def _has_screen(word: str) -> bool:
    """Tell whether the screen has a command of this name."""
    from agent_tui.ui.commands.builtin import builtin_commands  # with Textual, 0.2 s, where a word is refused

    return any(word in (command.name, *command.aliases) for command in builtin_commands())


def _texts(batch: BatchResult, *, stopped: bool) -> list[str]:
    """Give what the shell lines printed. Raises _Unsent when one did not run, TurnStopped."""
    if stopped or batch.cancelled:
        raise TurnStopped
    for outcome in batch.outcomes:
        if outcome.effect not in _RAN:
            raise _Unsent(f"`{_command(outcome)}` did not run. {outcome.result.output.partition(chr(10))[0]}")
    return [_printed(outcome) for outcome in batch.outcomes]


def _printed(outcome: ToolCallOutcome) -> str:
    """Give what a line printed; that it went well stands for itself."""
    text = outcome.result.output
    if outcome.result.data.get("exit_code") != 0:
        return text
    text = text.replace("\n(exit code: 0)", "")
    return "" if text.strip() == "(no output)" else text


def _command(outcome: ToolCallOutcome) -> str:
    return outcome.title or outcome.tool_name

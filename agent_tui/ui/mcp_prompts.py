"""Follows the MCP servers: their prompts are slash commands that complete their arguments, their troubles are told."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Sequence

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.commands.registry import Command, CommandHost, Registry
from agent_tui.ui.servers import PromptView, ServerDesk

SETTLE_S = 0.2
_TAIL = re.compile(r"(?:[^\s\"']|\"[^\"]*(?:\"|$)|'[^']*(?:'|$))*$")


class PromptDesk:
    """Keeps the prompts in the program's list. `joined` is called when there are others, `warn` when a server fails."""

    def __init__(
        self,
        registry: Registry,
        desk: ServerDesk,
        *,
        joined: Callable[[], None],
        warn: Callable[[str], None],
    ) -> None:
        self._registry, self._desk, self._joined, self._warn = registry, desk, joined, warn
        self._known: dict[PromptView, Command] = {}
        self._changed = asyncio.Event()

    async def follow(self) -> None:
        """Look at the servers now, and again whenever one changed, until cancelled."""
        self._desk.watch(self._changed.set)
        while True:
            self._changed.clear()
            await self.look()
            await self._changed.wait()
            await asyncio.sleep(SETTLE_S)  # a start is a burst of changes

    async def look(self) -> None:
        """Take over the prompts there are now, and tell which servers failed."""
        for text in self._desk.troubles():
            self._warn(text)
        found = await self._desk.prompts()
        if list(self._known) == list(found):
            return
        self._registry.forget(list(self._known.values()))
        self._known = {prompt: self._command(prompt) for prompt in found}
        for command in self._known.values():
            self._registry.register(command)
        self._joined()

    def _command(self, prompt: PromptView) -> Command:
        name = prompt.command.lower()  # commands are found without case, and prompt names differ by more

        async def run(host: CommandHost, args: str) -> None:
            shown = f"/{name} {args}".strip()
            try:
                values = prompt_values(prompt, args)
            except AgentTuiError as error:
                host.compose_prompt(f"{shown} ")
                raise AgentTuiError(f"{error} It is in the prompt again.") from error
            host.begin_turn(command, args, lambda: self._desk.run_prompt(prompt, values, shown))

        async def complete(_host: CommandHost, typed: str) -> Sequence[str]:
            return await self._offers(prompt, typed)

        command = Command(
            name,
            prompt.description or f"a prompt of {prompt.server}",
            run,
            usage=prompt.usage,
            needs_args=any(needed for _, _, needed in prompt.arguments),
            complete=complete if prompt.arguments else None,
            source=f"MCP server {prompt.server}",
        )
        return command

    async def _offers(self, prompt: PromptView, typed: str) -> list[str]:
        """Give what the last word may become, each with all that stands before it."""
        found = _TAIL.search(typed)
        tail = found.group() if found else ""
        before = typed[: len(typed) - len(tail)]
        given, position = _given(prompt, before)
        name, equals, value = tail.partition("=")
        if equals and name in _names(prompt):
            prefix, argument = f"{name}=", name
        else:
            free = [argument for argument in _names(prompt) if argument not in given]
            if not free or position >= len(_names(prompt)):
                return []
            prefix, argument, value = "", free[0], tail
        values = await self._desk.suggestions(prompt, argument, value.strip("\"'"), given)
        if values:
            return [f"{before}{prefix}{_quoted(one)}" for one in values]
        rest = [f"{one}=" for one in _names(prompt) if one not in given]
        return [f"{before}{one}" for one in rest if one.startswith(tail) and one != tail]


def prompt_values(prompt: PromptView, args: str) -> dict[str, str]:
    """Read the arguments of a prompt: `name=value`, or values in their order; the last takes the rest.

    Raises AgentTuiError when one that is needed is missing, or there are too many.
    """
    given, _ = _given(prompt, args)
    missing = [name for name, _, needed in prompt.arguments if needed and not given.get(name)]
    if missing:
        raise AgentTuiError(f"/{prompt.command.lower()} needs {', '.join(missing)}: {prompt.usage}.")
    return given


def _given(prompt: PromptView, args: str) -> tuple[dict[str, str], int]:
    """Give the values by name, and how many stood without one."""
    names, values, position = _names(prompt), dict[str, str](), 0
    for word in _split(args):
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
            continue
        position += 1
        free = next((one for one in names if one not in values), "")
        if free:
            values[free] = word
        elif names:
            values[names[-1]] = f"{values[names[-1]]} {word}"
        else:
            raise AgentTuiError(f"/{prompt.command.lower()} takes no arguments.")
    return values, position


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()  # an open quote is a character like any other


def _names(prompt: PromptView) -> list[str]:
    return [name for name, _, _ in prompt.arguments]


def _quoted(value: str) -> str:
    return value if value and not re.search(r"[\s\"'\\]", value) else shlex.quote(value)

"""The slash commands of an editor's session: those of the program that need no screen, of files, and skills."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_tui.conversation.core import Core
from agent_tui.headless.acp.conversation import CommandChoice
from agent_tui.ui.commands.reports import context_report, status_report, tools_report
from agent_tui.ui.talk import EFFORTS


@dataclass(frozen=True)
class _Own:
    """A command of the program."""

    choice: CommandChoice
    run: Callable[[str], Awaitable[str]]


class EditorCommands:
    """What is typed behind a slash. A name of the program wins; another of that name is called by its longer one."""

    def __init__(self, core: Core) -> None:
        self._core = core
        described: list[tuple[str, str, str, Callable[[str], Awaitable[str]]]] = [
            ("compact", "Replace older messages by a summary", "what to keep in mind", self._compact),
            ("context", "Show what fills the context", "", self._context),
            ("status", "Show the session, the model and the sandbox", "", self._status),
            ("model", "Switch the model, or list those there are", "[provider:]name", self._model),
            ("effort", "Say how much the model thinks", " | ".join(EFFORTS[1:]), self._effort),
            ("tools", "List the tools of this session", "", self._tools),
            ("check", "Explain what would be decided for a shell command", "command", self._check),
        ]
        self._own = {name: _Own(CommandChoice(name, text, hint), run) for name, text, hint, run in described}

    async def all(self) -> Sequence[CommandChoice]:
        """List the commands: the program's, then those of files and the skills, which run as a turn."""
        listed = [own.choice for own in self._own.values()]
        for found in await self._core.own.all():
            name = found.longer if found.name in self._own else found.name
            listed.append(CommandChoice(name, found.summary, found.hint or "arguments"))
        return listed

    async def run(self, name: str, arguments: str) -> str | None:
        """Run one of the program's; None for one of a file or a skill. Raises AgentTuiError."""
        own = self._own.get(name)
        if own is not None:
            return await own.run(arguments)
        return await self._core.own.unknown(f"/{name}", others=tuple(self._own)) or None

    async def _compact(self, focus: str) -> str:
        if focus == "undo":
            return await self._core.talk.undo_compaction()
        draft = await self._core.talk.draft(focus)
        return await self._core.talk.compact(draft.text) if draft.text else draft.problem

    async def _context(self, _arguments: str) -> str:
        counted = await self._core.talk.count()
        return _block(context_report(self._core.status(), self._core.talk.shares(), counted))

    async def _status(self, _arguments: str) -> str:
        return _block(status_report(self._core.status()))

    async def _model(self, name: str) -> str:
        if name:
            return await self._core.set_model(name)
        models = await self._core.models()
        return " ".join(filter(None, (f"Models: {', '.join(models.names)}.", models.problem)))

    async def _effort(self, effort: str) -> str:
        return self._core.talk.set_effort("" if effort in ("auto", "default") else effort.lower())

    async def _tools(self, _arguments: str) -> str:
        return _block(tools_report(self._core.tools()))

    async def _check(self, command: str) -> str:
        return _block(self._core.check_command(command)) if command else "Write /check COMMAND."


def _block(text: str) -> str:
    """Keep the columns of a report."""
    return f"```\n{text}\n```"

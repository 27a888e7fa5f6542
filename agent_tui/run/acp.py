"""Joins the editor's protocol to the core: each session of an editor is a core of its own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.config.paths import user_paths
from agent_tui.conversation.core import Core
from agent_tui.headless.acp.conversation import (
    CommandChoice,
    ContextUse,
    ModeChoice,
    SessionOrder,
    StoredSession,
)
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import EventSink
from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import TurnResult
from agent_tui.run.acp_commands import EditorCommands
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.sessions.store import SessionStore
from agent_tui.toolkit.context import Ask, TodoItem
from agent_tui.ui.backend import ModeName

MISSING = (
    "agent-tui acp needs the package agent-client-protocol; install it beside agent-tui with: "
    "pip install 'agent-client-protocol>=0.12,<0.13'"
)
MODES: tuple[tuple[ModeName, str, str], ...] = (
    ("default", "Ask", "What only reads runs; changes and commands are asked for"),
    ("accept-edits", "Accept edits", "Changes of project files run too"),
    ("plan", "Plan", "Nothing with a side effect runs; the agent makes a plan"),
    ("auto", "Auto", "Commands run too where a strong sandbox holds them"),
    ("dont-ask", "Don't ask", "What would be asked is denied"),
)
BYPASS: tuple[ModeName, str, str] = ("bypass", "Bypass", "Nothing is asked; deny rules hold")


class HostedCore:
    """Implements the protocol's Conversation. Bypass is offered only to a session that began in it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._commands = EditorCommands(core)
        self._modes: Sequence[tuple[ModeName, str, str]] = (
            (*MODES, BYPASS) if core.mode == "bypass" else MODES
        )
        self._told: set[str] = set()

    @property
    def session_id(self) -> str:
        return self._core.status().session_id

    @property
    def workspace(self) -> Path:
        return self._core.workspace

    @property
    def mode(self) -> str:
        return self._core.mode

    def modes(self) -> Sequence[ModeChoice]:
        return [ModeChoice(*mode) for mode in self._modes]

    def set_mode(self, mode: str) -> None:
        offered: Mapping[str, ModeName] = {name: name for name, _, _ in self._modes}
        wanted = offered.get(mode)
        if wanted is None:
            raise AgentTuiError(f"There is no mode {mode!r} here{did_you_mean(mode, offered, end='.')}")
        self._core.set_mode(wanted)

    def bind(self, *, sink: EventSink, approver: Approver, ask: Ask) -> None:
        self._core.bind(sink=sink, approver=approver, ask=ask)

    def notices(self) -> Sequence[str]:
        """Give what was not given yet; the core repeats the sentences of its start."""
        new = [text for text in self._core.notices() if text not in self._told]
        self._told.update(new)
        return new

    def todos(self) -> Sequence[TodoItem]:
        return self._core.todos

    def context_use(self) -> ContextUse:
        status = self._core.status()
        return ContextUse(status.context_tokens, status.context_limit_tokens, status.cost_usd)

    async def replay(self) -> Sequence[ReplayBlock]:
        return await self._core.replay(whole=True)

    async def ready(self) -> None:
        await self._core.servers.settled()

    async def run_turn(self, text: str, *, beside: str, images: Sequence[ImageBlock]) -> TurnResult:
        return await self._core.run_prompt(text, beside=beside, images=images)

    def cancel_turn(self) -> None:
        self._core.cancel_turn()

    async def commands(self) -> Sequence[CommandChoice]:
        return await self._commands.all()

    async def run_command(self, name: str, arguments: str) -> str | None:
        return await self._commands.run(name, arguments)

    async def aclose(self) -> None:
        await self._core.aclose()


def run_acp(options: RunOptions) -> int:
    """Serve an editor and give the exit code. Raises AgentTuiError when the package is missing."""
    try:
        from agent_tui.headless.acp.serve import serve  # needs the extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "acp":
            raise
        raise AgentTuiError(MISSING) from error

    async def open_conversation(order: SessionOrder) -> HostedCore:
        given = replace(
            options,
            resume=order.session_id,
            add_dirs=(*options.add_dirs, *order.add_dirs),
            mcp_config=(*options.mcp_config, *([order.mcp_config] if order.mcp_config else [])),
        )
        return HostedCore(await assemble(given, order.workspace, with_screen=False, with_person=True))

    async def list_sessions(workspace: Path | None) -> Sequence[StoredSession]:
        found = await asyncio.to_thread(SessionStore(user_paths().sessions).list, workspace)
        return [StoredSession(info.session_id, info.workspace, info.title, info.changed_at) for info in found]

    return serve(open_conversation, list_sessions, log=user_paths().log)

"""The agent side of the protocol: answers what an editor asks, session by session."""

import asyncio
import json
from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acp.connection import StreamDirection, StreamEvent
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AcpMcpServer,
    AgentCapabilities,
    AuthenticateResponse,
    ClientCapabilities,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SetSessionModeResponse,
    SseMcpServer,
)

from agent_tui import __version__
from agent_tui.headless.acp.content import PromptBlock
from agent_tui.headless.acp.conversation import ListSessions, OpenConversation, SessionOrder
from agent_tui.headless.acp.session import INTERNAL_ERROR, INVALID_PARAMS, EditorSession
from agent_tui.protocol.errors import AgentTuiError, AuthError, SessionNameError

AUTH_REQUIRED = -32000
NOT_FOUND = -32002
McpServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio


class EditorAgent:
    """Implements the agent of the package; each of its sessions is a conversation of its own."""

    def __init__(self, open_conversation: OpenConversation, list_sessions: ListSessions) -> None:
        self._open_conversation = open_conversation
        self._list_sessions = list_sessions
        self._sessions: dict[str, EditorSession] = {}
        self._unannounced: set[str] = set()
        self._client: Client

    def on_connect(self, conn: Client) -> None:
        """Keep whom to tell."""
        self._client = conn

    def observe(self, event: StreamEvent) -> Awaitable[None] | None:
        """Announce the commands of a new session once the editor has its id."""
        if event.direction is not StreamDirection.OUTGOING or not self._unannounced:
            return None
        result = event.message.get("result")
        session_id = result.get("sessionId") if isinstance(result, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # raw JSON
        if session_id not in self._unannounced:
            return None
        self._unannounced.discard(session_id)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        return self._sessions[session_id].announce()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_more: Any,
    ) -> InitializeResponse:
        """Say which version is spoken and what can be done."""
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_info=Implementation(name="agent-tui", title="agent-tui", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_more: Any) -> AuthenticateResponse:
        """There is nothing to log in to: keys come from the environment or `agent-tui auth`."""
        raise RequestError(
            INVALID_PARAMS,
            f"There is no login {method_id!r}: keys are set with 'agent-tui auth set PROVIDER'.",
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_more: Any,
    ) -> NewSessionResponse:
        """Open a session in `cwd`."""
        session = await self._open(_order(cwd, "", additional_directories, mcp_servers))
        session_id = session.conversation.session_id
        self._unannounced.add(session_id)
        return NewSessionResponse(session_id=session_id, modes=session.modes())

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[McpServer] | None = None,
        additional_directories: list[str] | None = None,
        **_more: Any,
    ) -> LoadSessionResponse:
        """Open a stored session and tell what it holds."""
        open_already = self._sessions.pop(session_id, None)
        if open_already is not None:
            await open_already.aclose()
        session = await self._open(_order(cwd, session_id, additional_directories, mcp_servers))
        await session.replay()
        await session.announce()
        return LoadSessionResponse(modes=session.modes())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_more: Any
    ) -> ListSessionsResponse:
        """List the stored sessions, the newest first."""
        found = await self._list_sessions(None if cwd is None else _directory(cwd))
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=one.session_id,
                    cwd=one.workspace,
                    title=one.title or None,
                    updated_at=datetime.fromtimestamp(one.changed_at, UTC).isoformat(timespec="seconds"),
                )
                for one in found
                if Path(one.workspace).is_absolute()
            ]
        )

    async def set_session_mode(self, session_id: str, mode_id: str, **_more: Any) -> SetSessionModeResponse:
        """Switch the permission mode of a session."""
        self._session(session_id).set_mode(mode_id)
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[PromptBlock], **_more: Any) -> PromptResponse:
        """Run a turn."""
        return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_more: Any) -> None:
        """Stop the turn of a session."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel()

    async def aclose(self) -> None:
        """Close every session."""
        async with asyncio.TaskGroup() as group:
            for session in self._sessions.values():
                group.create_task(session.aclose())
        self._sessions.clear()

    async def _open(self, order: SessionOrder) -> EditorSession:
        try:
            conversation = await self._open_conversation(order)
        except AuthError as error:
            raise RequestError(AUTH_REQUIRED, str(error)) from error
        except AgentTuiError as error:
            code = NOT_FOUND if isinstance(error, SessionNameError) else INTERNAL_ERROR
            raise RequestError(code, str(error)) from error
        session = EditorSession(conversation, self._client)
        self._sessions[conversation.session_id] = session
        return session

    def _session(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError(NOT_FOUND, f"No session {session_id!r} is open here; load it first.")
        return session


def _order(
    cwd: str, session_id: str, add_dirs: Sequence[str] | None, servers: Sequence[McpServer] | None
) -> SessionOrder:
    """Check what a session is to be opened with. Raises RequestError."""
    return SessionOrder(
        workspace=_directory(cwd),
        session_id=session_id,
        add_dirs=tuple(_directory(path) for path in add_dirs or ()),
        mcp_config=json.dumps({"mcpServers": _mcp_config(servers)}) if servers else "",
    )


def _directory(path: str) -> Path:
    """Give a folder's real path. Raises RequestError."""
    folder = Path(path)
    if not folder.is_absolute():
        raise RequestError(INVALID_PARAMS, f"{path!r} is not an absolute path.")
    if not folder.is_dir():
        raise RequestError(INVALID_PARAMS, f"There is no directory {path!r}.")
    return folder.resolve()


def _mcp_config(servers: Sequence[McpServer]) -> Mapping[str, Mapping[str, object]]:
    """Write the editor's servers as --mcp-config does. Raises RequestError."""
    found: dict[str, Mapping[str, object]] = {}
    for server in servers:
        if server.name in found:
            raise RequestError(INVALID_PARAMS, f"Two MCP servers are called {server.name!r}.")
        match server:
            case McpServerStdio():
                env = {one.name: one.value for one in server.env}
                found[server.name] = {"command": server.command, "args": server.args, "env": env}
            case HttpMcpServer() | SseMcpServer():
                headers = {one.name: one.value for one in server.headers}
                found[server.name] = {"type": server.type, "url": server.url, "headers": headers}
            case AcpMcpServer():
                raise RequestError(
                    INVALID_PARAMS, f"The MCP server {server.name!r} is of type acp, which is not offered."
                )
    return found

"""Opens the session that the command line asks for: a new one, an earlier one, or a copy of it."""

from pathlib import Path

from agent_tui.protocol.errors import SessionError, SessionInUseError
from agent_tui.run.options import PICK, RunOptions
from agent_tui.sessions.store import Session, SessionStore

_COPIED = "The session is open in another program; this is a copy of it. What waits for an answer there is asked only there."
_FORKED = "This is a copy; the session it was made from is kept as it is."
_NONE = "There is no earlier session here; this is a new one."


def open_record(
    store: SessionStore, options: RunOptions, workspace: Path, with_screen: bool
) -> tuple[Session, list[str]]:
    """Open the session that was asked for, or a new one, with what the person is to know.

    Raises SessionInUseError without a screen when another program has it, SessionError.
    """
    if options.ephemeral:
        return store.ephemeral(workspace), []
    resume = "" if options.resume == PICK else options.resume
    wanted = resume or (store.latest(workspace, with_screen=with_screen) if options.continue_last else None)
    if not wanted:
        notices = _moved(store, workspace) if options.continue_last else []
        record = store.create(
            workspace, session_id=options.session_id, name=options.name, with_screen=with_screen
        )
        return record, notices
    session_id = store.find(wanted, workspace)
    if options.fork_session:
        return _copy(store, session_id, workspace, name=options.name), [_FORKED]
    try:
        record = store.open(session_id)
    except SessionInUseError:
        if not with_screen:
            raise
        return _copy(store, session_id, workspace), [_COPIED]
    elsewhere = record.workspace != workspace and record.workspace != Path()
    return record, [f"This session was made in {record.workspace}."] if elsewhere else []


def _moved(store: SessionStore, workspace: Path) -> list[str]:
    """Say that there is nothing to go on with here, and where it may be."""
    found = store.moved_here(workspace)
    if not found:
        return [_NONE]
    latest = found[0]
    return [
        f"{_NONE} This directory was called {latest.workspace} before; to go on with its last session: "
        f"agent-tui --resume {latest.session_id}"
    ]


def _copy(store: SessionStore, session_id: str, workspace: Path, *, name: str = "") -> Session:
    """Open a copy of the path to the active entry of a session. Raises SessionError."""
    outline = store.outline(session_id)
    try:
        return store.open(store.copy(workspace, outline, outline.path(), name=name, origin=session_id))
    except OSError as error:
        raise SessionError(
            f"the copy cannot be written: {error.strerror or error}", path=store.root
        ) from error

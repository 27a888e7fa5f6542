"""Reads what a stored session shows before the core is built: the person sees it at once, and the core comes after."""

from collections.abc import Sequence
from pathlib import Path

from agent_tui.config.paths import user_paths
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.run.options import RunOptions
from agent_tui.sessions.frames import no_collection
from agent_tui.sessions.paging import SessionTexts, paged_blocks
from agent_tui.sessions.store import SessionStore


def stored_blocks(options: RunOptions, workspace: Path) -> Sequence[ReplayBlock]:
    """Give the blocks of the session that is going to be opened; () when it cannot be told or read yet."""
    store = SessionStore(user_paths().sessions)
    try:
        wanted = options.resume or store.latest(workspace, with_screen=True)
        if not wanted:
            return ()
        session_id = store.find(wanted, workspace)
        outline, file = store.outline(session_id), store.path_of(session_id)
    except AgentTuiError:
        return ()  # opening it for good says why
    with no_collection():
        return paged_blocks(outline, store.blobs, SessionTexts(file, store.blobs))

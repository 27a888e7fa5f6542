"""One sentence for what was decided about a call, for the transcript."""

from __future__ import annotations

from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.sessions.decided import decided
from agent_tui.ui.render.safe import clean_line

_ASKED = {"display_name": True, "tool": True, "title": True, "permissions": True}


def decision_line(request: PermissionRequest | None, verdict: Verdict) -> str:
    """Say what was decided, as a stored session says it; "" when nothing was asked."""
    if request is None:
        return ""
    return clean_line(
        decided(request.model_dump(mode="json", include=_ASKED), verdict.model_dump(mode="json"))
    )

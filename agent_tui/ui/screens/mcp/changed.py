"""Shows how a server describes its tools now, against what was accepted, and asks whether that counts."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.panels import panel
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.consent import Consent
from agent_tui.ui.servers import ChangedView

NO, YES = "Leave them switched off", "Accept what stands here"
_WHY = (
    "What a server says of its tools goes to the model. These words changed since you accepted them; read them as you "
    "would read a letter from a stranger."
)


class ChangedScreen(Consent):
    """Gives True only when "accept" was chosen."""

    def __init__(self, keys: Keymap, server: str, changed: Sequence[ChangedView], palette: Palette) -> None:
        super().__init__(
            keys,
            palette,
            title=clean_line(f"{server} describes its tools differently"),
            why=_WHY,
            blocks=[panel(one.tool, "accepted, and now", one.diff, content_type="diff") for one in changed],
            no=NO,
            yes=YES,
        )

"""Shows what a project's own configuration would run and asks whether it may."""

from __future__ import annotations

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.house import TrustLine, TrustView
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.panels import panel
from agent_tui.ui.render.safe import vis
from agent_tui.ui.screens.consent import Consent

NO, YES = "No, leave it out", "Trust exactly this content"
_NEW = "This project brings configuration of its own. None of it counts or runs before you trust it."
_CHANGED = (
    "This project's configuration changed since you trusted it. It does not count until you trust it anew."
)


class TrustScreen(Consent):
    """Gives True only when "trust" was chosen."""

    def __init__(self, keys: Keymap, view: TrustView, palette: Palette) -> None:
        super().__init__(
            keys,
            palette,
            title="Trust this project?",
            why=_CHANGED if view.changed else _NEW,
            blocks=_blocks(view),
            no=NO,
            yes=YES,
        )


def trust_text(lines: tuple[TrustLine, ...]) -> str:
    """Write what would run, one thing a paragraph, with every invisible character made visible."""
    return "\n".join(
        f"{vis(line.kind)}: {vis(line.name)}\n    {vis(line.detail)}\n    in {vis(line.file)}"
        for line in lines
    )


def _blocks(view: TrustView) -> list[ReplayBlock]:
    listed = trust_text(view.lines)
    count = len(view.lines)
    things = "1 thing" if count == 1 else f"{count} things"
    blocks = [panel("It would", things, listed, content_type="text", state="waiting")]
    if view.diff:
        blocks.append(
            panel("Changed", "since you trusted it", view.diff, content_type="diff", state="waiting")
        )
    return blocks

"""The words of settings whose type knows none: themes with the user's own, pieces of the status line."""

from collections.abc import Sequence

from agent_tui.config.paths import Paths
from agent_tui.extensions.bundled import themes_dir


def known_words(key: str, paths: Paths) -> Sequence[str] | None:
    """Give the words that the setting `key` may have, None when any text may stand there."""
    # Textual comes with both: 0.2 s, when one of the two is changed
    match key:
        case "ui.theme":
            from agent_tui.ui.themes import ThemeShelf

            return ThemeShelf((themes_dir(), paths.user_themes)).names()
        case "ui.status":
            from agent_tui.ui.widgets.segments import KINDS, SPLIT

            return [*KINDS, SPLIT]
        case _:
            return None

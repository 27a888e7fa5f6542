"""The words of settings whose type knows none: themes with the user's own, pieces of the status line."""

from collections.abc import Sequence

from agent_tui.config.paths import Paths
from agent_tui.extensions.bundled import themes_dir
from agent_tui.ui.theme_files import theme_names


def known_words(key: str, paths: Paths) -> Sequence[str] | None:
    """Give the words that the setting `key` may have, None when any text may stand there."""
    match key:
        case "ui.theme":
            return theme_names((themes_dir(), paths.user_themes))
        case "ui.status":
            # with Textual, 0.2 s, when this one is changed
            from agent_tui.ui.widgets.segments import KINDS, SPLIT

            return [*KINDS, SPLIT]
        case _:
            return None

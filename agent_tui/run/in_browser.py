"""Whether a browser shows this program, as `agent-tui serve` tells it."""

import os

IN_BROWSER = "AGENT_TUI_IN_BROWSER"
_FOR_TEXTUAL = ("TEXTUAL_DRIVER", "TEXTUAL_FPS", "TEXTUAL_COLOR_SYSTEM")


def in_browser() -> bool:
    """Tell whether it does."""
    return os.environ.get(IN_BROWSER) == "1"


def forget_browser() -> None:
    """Take what the server told this program out of the environment of what it starts; call once Textual is imported."""
    for name in (IN_BROWSER, *_FOR_TEXTUAL):
        os.environ.pop(name, None)

"""Where the tools and themes that come with the program lie on disk."""

from pathlib import Path

from agent_tui.protocol.errors import AgentTuiError

_PACKAGE = Path(__file__).resolve().parents[1]


def tools_dir() -> Path:
    """Give the folder of the built-in tools. Raises AgentTuiError when the installation has none."""
    return _folder("tools")


def themes_dir() -> Path:
    """Give the folder of the built-in themes. Raises AgentTuiError when the installation has none."""
    return _folder("themes")


def _folder(name: str) -> Path:
    """Give the wheel's data folder, or the top-level one of a checkout (editable install)."""
    for folder in (_PACKAGE / "_bundled" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise AgentTuiError(
        f"the folder {name!r} that belongs to agent-tui is missing beside {_PACKAGE}; install it again"
    )

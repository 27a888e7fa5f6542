"""Opens a page in the person's browser, where there is one."""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from agent_tui.toolkit.children import start_child
from agent_tui.toolkit.programs import find_program

_ANSWER_S = 5.0


def browser_command(*, outside: Path) -> Path | None:
    """Give the program that opens a page, None where no graphical browser can be expected."""
    if sys.platform == "darwin":
        return find_program("open", outside=outside)
    if not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("WSL_DISTRO_NAME")
    ):
        return None
    for name in ("xdg-open", "wslview"):
        if (found := find_program(name, outside=outside)) is not None:
            return found
    return None


async def open_page(url: str, *, outside: Path) -> bool:
    """Open `url`; tell whether a browser was asked. Only web addresses are opened, and no terminal is lent."""
    program = browser_command(outside=outside)
    if program is None or urlsplit(url).scheme not in ("http", "https") or not url.isprintable():
        return False
    try:
        opener = await start_child((str(program), url))
    except OSError:
        return False
    if await opener.exited(_ANSWER_S):
        return opener.exit_code == 0
    return True  # it stays in front of the page it opened

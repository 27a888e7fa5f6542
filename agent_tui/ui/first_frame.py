"""Keeps how the first frame looked, so that the next start can draw its prompt before the program is loaded."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip

from agent_tui.ui.instant import FRAMED_ROWS, look_file, terminal_kind

if TYPE_CHECKING:
    from textual.app import App

    from agent_tui.ui.widgets.prompt import Prompt

_SGR = re.compile(r"\x1b\[([0-9;]*)m")


def look_of(app: App[int], prompt: Prompt) -> str:
    """Give the look as the text to keep, "" when the prompt does not stand as it does at every start."""
    place, (width, height) = prompt.region, app.size
    below = height - 1 - place.y
    if prompt.text or not place.width or height < FRAMED_ROWS or not 1 < below < 9 or not 1 < place.x < 9:
        return ""
    row = app.screen._compositor.render_strips()[place.y]  # pyright: ignore[reportPrivateUsage]  # public only as a picture

    def sgr(strip: Strip) -> str:
        found = _SGR.match(strip.render(app.console))
        return found[1] if found else ""

    def style(x: int) -> str:
        return sgr(row.crop(x, x + 1))

    text = Strip([Segment("x", prompt.rich_style)], 1)
    for line_filter in app.get_line_filters():
        text = text.apply_filter(line_filter, prompt.background_colors[1])

    parts = {
        "kind": terminal_kind(),
        "base": style(width - 3),
        "text": sgr(text),
        "frame": style(0),
        "marker": style(place.x - 2),
        "cursor": style(place.x),
        "hint": style(place.x + 1),
        "words": str(prompt.placeholder),
        "below": str(below),
        "left": str(place.x),
    }
    return "".join(f"{name}={value}\n" for name, value in parts.items())


def keep_look(text: str) -> None:
    """Write the look where the next start reads it; a disk that refuses is not worth a word."""
    path = Path(look_file())
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        if not text or (path.exists() and path.read_text(encoding="utf-8") == text):
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.replace(path)
    except (OSError, ValueError):
        with suppress(OSError):  # where a file stands in the place of the folder it refuses as well
            temporary.unlink()

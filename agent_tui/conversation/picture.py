"""Writes a picture of the screen as SVG, or as PNG where a program can convert it."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.toolkit.capture import capture
from agent_tui.toolkit.children import NULL
from agent_tui.toolkit.programs import find_program

CONVERTERS: tuple[tuple[str, Sequence[str]], ...] = (
    ("rsvg-convert", ("-o", "{png}", "{svg}")),
    ("resvg", ("{svg}", "{png}")),
    ("inkscape", ("{svg}", "--export-filename={png}")),
    ("magick", ("{svg}", "{png}")),
    ("convert", ("{svg}", "{png}")),
)
"""Programs that make a PNG of an SVG, the best first, with their arguments."""

TIMEOUT_S = 30.0
_SAID_BYTES = 1_000_000
_MAGIC = b"\x89PNG\r\n\x1a\n"


async def png_of(svg: str, *, outside: Path) -> bytes:
    """Convert a picture by the first program that can; none of `outside` is used. Raises AgentTuiError."""
    found = [
        (program, arguments)
        for name, arguments in CONVERTERS
        if (program := await asyncio.to_thread(find_program, name, outside=outside))
    ]
    with tempfile.TemporaryDirectory(prefix="agent-tui-") as folder:
        source, target = Path(folder, "screen.svg"), Path(folder, "screen.png")
        source.write_text(svg, encoding="utf-8")
        for program, arguments in found:
            filled = [argument.format(svg=source, png=target) for argument in arguments]
            await _run([str(program), *filled], Path(folder))
            with contextlib.suppress(OSError):
                data = target.read_bytes()
                if data.startswith(_MAGIC):
                    return data
                target.unlink()
    names = ", ".join(name for name, _ in CONVERTERS)
    why = (
        f"{', '.join(program.name for program, _ in found)} could not convert it"
        if found
        else f"none of {names} is installed"
    )
    raise AgentTuiError(f"There is no PNG: {why}. /export svg writes the same picture.")


async def _run(argv: Sequence[str], folder: Path) -> None:
    """Run a converter to its end, its failure or its time limit; what it made is looked at afterwards."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "AGENT_TUI_CHILD": "1"}
    with contextlib.suppress(OSError):  # also that its time is over
        await capture(argv, cwd=folder, env=env, stderr=NULL, timeout_s=TIMEOUT_S, limit_bytes=_SAID_BYTES)

"""Brings a person at a terminal to a sign-in page, and takes the address they paste."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from agent_tui.extensions.mcp.browser import open_page
from agent_tui.extensions.mcp.sign_in import Visit
from agent_tui.extensions.plain import plain


@asynccontextmanager
async def terminal_visit(*, outside: Path, browser: bool) -> AsyncGenerator[Visit]:
    """Give a way to the page: opened in the browser if there is one, else printed. Standard input is read meanwhile."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    reads = sys.stdin.isatty()

    def read() -> None:
        text = os.read(sys.stdin.fileno(), 65_536).decode("utf-8", "replace")  # a terminal gives whole lines
        for line in text.splitlines() or [None]:
            lines.put_nowait(line)
        if not text:
            loop.remove_reader(sys.stdin)

    async def show(url: str) -> None:
        opened = browser and await open_page(url, outside=outside)
        say = "The sign-in page was opened in your browser:" if opened else "Open this address and sign in:"
        print(f"{say}\n\n  {plain(url)}\n", flush=True)
        if reads:
            print(
                "Waiting for you. If the browser runs on another machine, its last address does not load there: "
                "copy it, paste it here and press Enter.",
                flush=True,
            )

    async def pasted() -> str | None:
        return await lines.get() if reads else None

    if reads:
        loop.add_reader(sys.stdin, read)
    try:
        yield Visit(show, pasted)
    finally:
        if reads:
            loop.remove_reader(sys.stdin)

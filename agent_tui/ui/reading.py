"""Opens the reader on the conversation, and does what it asks of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.plain_text import conversation_text

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.screens.reader.screen import Outside


class Reading:
    """`open_full` shows the whole of a result that was cut."""

    def __init__(self, app: AgentApp, open_full: Callable[[str], None]) -> None:
        self._app = app
        self._open_full = open_full

    def blocks(self) -> list[ReplayBlock]:
        """Give the conversation as it is now, with what streams in so far."""
        document = self._app.transcript.document
        blocks = [block.data for block in document.blocks]
        for at, stream in document.streams.items():
            blocks[at] = replace(blocks[at], text=stream.text)
        return blocks

    def open(self) -> None:
        """Open the reader where the conversation stands."""
        from agent_tui.ui.screens.reader.screen import Reader, ReaderHost  # loaded ahead by `ui.ahead`

        app, view = self._app, self._app.transcript
        top = (
            -1
            if view.follow or not view.document.blocks
            else view.document.heights.find(int(view.scroll_y))[0]
        )
        host = ReaderHost(app.copy_to_clipboard, self._open_full, self.outside)
        app.push_screen(Reader(app.keys, self.blocks(), app.palette, host, top=top))

    def outside(self, where: Outside) -> None:
        """Show the conversation in the pager or the scrollback."""
        from agent_tui.ui.outside_pager import dump_outside, page_outside  # loaded ahead by `ui.ahead`

        blocks = self.blocks()
        if where == "pager":
            page_outside(self._app, lambda: conversation_text(blocks))
        else:
            dump_outside(self._app, lambda: conversation_text(blocks))

    def open_marked(self) -> None:
        """Open the whole or the images of the marked block, else of the last one that was cut or has images."""
        view = self._app.transcript
        marked = view.cursor
        more = [
            at
            for at, block in enumerate(view.document.blocks)
            if block.data.is_truncated or block.data.images
        ]
        if marked is None and more:
            marked = more[-1]
        if marked is None or marked not in more:
            self._app.status.show_hint("Nothing of it was cut")
        else:
            view.open_full(marked)

    def copy_marked(self) -> None:
        """Copy the marked block as it was written."""
        view = self._app.transcript
        if view.cursor is None:
            self._app.status.show_hint(
                f"{self._app.keys.hint('global', 'previous_block')} marks a block first"
            )
            return
        text = view.source(view.cursor)
        self._app.copy_to_clipboard(text)
        self._app.status.show_hint(f"Copied {len(text):,} characters")

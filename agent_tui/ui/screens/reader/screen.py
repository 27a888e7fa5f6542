"""Reads the conversation as with less: everything open, search, jumps, copies, and ways to take it outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static, TextArea

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import BETWEEN, fit_legend, more_keys
from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.editor import Editor, Field

Outside = Literal["pager", "scrollback"]


class ReaderHost(NamedTuple):
    """What the reader asks of the program: to copy, to open the whole of a result, to show the text outside."""

    copy: Callable[[str], None]
    open_full: Callable[[str], None]
    outside: Callable[[Outside], None]


class Reader(Dialog[None]):
    """A picture of the conversation as it was when it was opened. The block on screen first is `top`."""

    AUTO_FOCUS: ClassVar[str | None] = ""  # None would be the app's: the first field

    DEFAULT_CSS = """
    Reader {
        & > .frame { width: 100%; height: 100%; max-height: 100%; border: none; background: $background; padding: 0; }
        & Transcript { height: 1fr; }
        & .foot { height: 1; background: $panel; padding: 0 1; }
        & .find { height: 1; display: none; background: $panel; padding: 0 1; }
        & .find Static { width: 2; color: $accent; }
        & .find Field { width: 1fr; padding: 0; }
        &.-finding .find { display: block; }
        &.-finding .foot { display: none; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        blocks: Sequence[ReplayBlock],
        palette: Palette,
        host: ReaderHost,
        *,
        top: int = -1,
    ) -> None:
        super().__init__(keys, "reader")
        self._blocks, self._host, self._top = blocks, host, top
        self._view = Transcript(palette)
        self._mark = Static("/", markup=False)
        self._field = Field(keys, ("field", "edit"))
        self._foot = Static("", classes="foot", markup=False)
        self._step = 1
        self._count = ""

    @property
    def view(self) -> Transcript:
        """The conversation."""
        return self._view

    def compose(self) -> ComposeResult:
        """Lay out the text, the line that says where it stands, and the search line in its place."""
        with Vertical(classes="frame"):
            yield self._view
            yield self._foot
            with Horizontal(classes="find"):
                yield self._mark
                yield self._field

    def on_mount(self) -> None:
        """Open everything and stand where the person was reading."""
        self._view.load(self._blocks)
        if any(block.collapsible and not block.open for block in self._view.document.blocks):
            self._view.toggle_all()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if 0 <= self._top < len(self._view.document):
            self._view.go_to(self._view.document.top(self._top))
        else:
            self._view.go_end()
        self._tell()

    def on_resize(self, _event: events.Resize) -> None:
        """Say anew where the text stands."""
        self.call_after_refresh(self._tell)

    def _tell(self, said: str = "") -> None:
        view = self._view
        lines, last = view.document.heights.total, view.max_scroll_y
        percent = 100 if last <= 0 else round(100 * view.scroll_y / last)
        place = f"{percent} % of {lines:,} lines"
        found = f" · {clean_line(view.needle)!r}: {self._count}" if view.needle else ""
        legend = self.keys.legend(
            ("reader", "search", "search"),
            ("reader", "next_match", "next"),
            ("reader", "pager", "pager"),
            ("reader", "scrollback", "scrollback"),
            ("reader", "close", "closes"),
        )
        place = said or f"{place}{found}"
        room = self.size.width - 2 - cell_len(f"{place}{BETWEEN}")
        keys = fit_legend(legend, room, more_keys(self.keys))
        self._foot.update(spans((place, "$accent"), f"{BETWEEN}{keys}" if keys else ""))

    def on_transcript_open_full(self, event: Transcript.OpenFull) -> None:
        """Show the whole of a result that was cut."""
        event.stop()
        self._host.open_full(event.call_id)

    # Searching

    def _begin_search(self, step: int) -> None:
        self._step = step
        self._mark.update("/" if step > 0 else "?")
        self._field.put("")
        self.add_class("-finding")
        self.set_focus(self._field)

    def _end_search(self) -> None:
        self.remove_class("-finding")
        self.set_focus(None)
        self._tell()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The search begins with Enter."""
        event.stop()

    def on_editor_act(self, event: Editor.Act) -> None:
        """Search, or leave the search line."""
        event.stop()
        if event.action == "accept":
            self.run_worker(partial(self._search, self._field.text), group="find", exclusive=True)
        self._end_search()

    async def _search(self, text: str) -> None:
        row, self._count = int(self._view.scroll_y), "..."
        hits = await self._view.search(text or self._view.needle)
        if hits:
            near = self._nearest(row)
            self._count = f"{self._view.next_match(near - self._view.match)} of {hits}"
        elif hits == 0:
            self._count = "not found"
        self._tell()

    def _nearest(self, row: int) -> int:
        """Give the first match from the block at `row` on, or the last up to it when searching back."""
        here = self._view.document.heights.find(row)[0]
        blocks = [match.block for match in self._view.matches]
        if self._step > 0:
            return next((at for at, block in enumerate(blocks) if block >= here), 0)
        return next((at for at in reversed(range(len(blocks))) if blocks[at] <= here), len(blocks) - 1)

    def _next(self, step: int) -> None:
        if self._view.matches:
            self._count = f"{self._view.next_match(step)} of {len(self._view.matches)}"
        self._tell("" if self._view.needle else "Nothing is searched yet")

    # Keys

    def act(self, action: str) -> None:
        """Do a key of the reader."""
        view = self._view
        half = max(1, view.size.height // 2)
        match action:
            case "line_down" | "line_up":
                view.scroll_rows(1 if action == "line_down" else -1)
            case "page_down" | "page_up":
                view.scroll_page(1 if action == "page_down" else -1)
            case "half_down" | "half_up":
                view.scroll_rows(half if action == "half_down" else -half)
            case "top":
                view.go_home()
            case "bottom":
                view.go_end()
            case "next_prompt" | "previous_prompt":
                view.jump_prompt(1 if action == "next_prompt" else -1)
            case "next_block" | "previous_block":
                view.move_cursor(1 if action == "next_block" else -1)
            case "search" | "search_back":
                self._begin_search(1 if action == "search" else -1)
                return
            case "next_match" | "previous_match":
                self._next(self._step if action == "next_match" else -self._step)
                return
            case _:
                self._act_on_block(action)
                return
        self._tell()

    def _act_on_block(self, action: str) -> None:
        view, marked = self._view, self._view.cursor
        match action:
            case "toggle_all":
                view.toggle_all()
            case "toggle" if marked is not None:
                view.toggle(marked)
            case "open_full" if marked is not None:
                view.open_full(marked)
            case "copy" if marked is not None:
                self._copy(view.source(marked))
                return
            case "copy":
                self._copy(self.get_selected_text() or "")
                return
            case "pager":
                self._host.outside("pager")
            case "scrollback":
                self._host.outside("scrollback")
            case "close":
                self.finish(None)
                return
            case _:
                pass
        self._tell()

    def _copy(self, text: str) -> None:
        if text:
            self._host.copy(text)
            self._tell(f"Copied {len(text):,} characters")
        else:
            mark = self.keys.hint("reader", "previous_block")
            self._tell(f"Mark a block with {mark} or drag over text first")

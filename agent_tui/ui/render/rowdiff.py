"""Writes only what changed on screen, and lets the terminal scroll what moved: 19 times fewer bytes.

Relies on three private points of Textual 8.2: `App._display`, `LayoutUpdate.strips` and the three fields of
`ChopsUpdate`. A property test compares the screens of both ways after every frame.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.screen import Screen
from textual.signal import Signal
from textual.strip import Strip
from textual.timer import Timer

LEAST_MOVED = 3
# Clusters that every terminal draws in the same number of cells. A row with any other is written whole: where a
# terminal counts differently, what stands behind them is not where we think.
_ODD = re.compile(
    "[^\x20-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u23e8\u2500-\u25fc\u2713\u2717"
    "\u2800-\u28ff\u3001-\u3029\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]"
)

_RESET = re.compile("\x1b\\[0m\x1b\\[(?=[0-9;]+m)")  # "off, then on" is one sequence


_RUN = re.compile("\x1b\\[([0-9;]*)m([^\x1b]* {12}[^\x1b]*)")  # a text in one style with a long blank in it
_BLANK = re.compile(" {12,}")
_COLOUR = re.compile("[34]8;(?:5;[0-9]+|2;[0-9]+;[0-9]+;[0-9]+)")
_DRAWN = frozenset(("4", "7", "9", "21", "51", "52", "53"))
"""Attributes that show on a blank: underlines, reverse, strikes, frames."""


def _erased(run: re.Match[str]) -> str:
    if not _fills(run[1]):
        return run[0]
    return f"\x1b[{run[1]}m" + _BLANK.sub(_erase, run[2])


def _erase(blank: re.Match[str]) -> str:
    size = len(blank[0])
    return f"\x1b[{size}X\x1b[{size}C"


@lru_cache(256)
def _fills(sgr: str) -> bool:
    return not _DRAWN & set(_COLOUR.sub("", sgr).split(";"))


class Piece(NamedTuple):
    """Cells `x` to `end` of a row, as strip and as the terminal's text."""

    x: int
    end: int
    strip: Strip
    ansi: str


class RowDiff:
    """What the terminal shows, as far as we wrote it ourselves.

    `erases` writes long blanks as "erase" (ECH), which fills with the ground in use wherever BCE is known.
    """

    def __init__(self, *, erases: bool = True) -> None:
        self.erases = erases
        self._rows: dict[int, dict[int, Piece]] = {}
        self._size = (0, 0)

    def reset(self) -> None:
        """Forget it all, after anything else has written to the terminal; the next update is written whole."""
        self._rows.clear()

    def encode(self, update: LayoutUpdate | ChopsUpdate, console: Console, size: tuple[int, int]) -> str:
        """Give what turns the screen of `size` (width, height) into the one after `update`."""
        if size != self._size:
            self._size = size
            self.reset()
        rows = {y: list(pieces) for y, pieces in _pieces(update, console)}
        written = self._scroll(rows)
        for y, pieces in rows.items():
            for piece in pieces:
                written += self._write(y, piece, console)
        written = _RESET.sub("\x1b[0;", written)
        return _RUN.sub(_erased, written) if self.erases else written

    def _write(self, y: int, piece: Piece, console: Console) -> str:
        row = self._rows.setdefault(y, {})
        old = row.get(piece.x)
        known = old is not None and old.end == piece.end
        is_odd = bool(_ODD.search(piece.strip.text))
        if known and not is_odd and old and (old.strip is piece.strip or old.ansi == piece.ansi):
            return ""
        for x in [x for x, other in row.items() if x < piece.end and other.end > piece.x]:
            del row[x]
        row[piece.x] = piece
        if is_odd:  # where the terminal counts more cells, it ran over what stands right of it and below
            self._rows.pop(y + 1, None)
            self._rows[y] = {x: other for x, other in row.items() if x <= piece.x}
        elif known and old and not _ODD.search(old.strip.text):
            return _changed_cells(y, old, piece, console)
        return f"\x1b[{y + 1};{piece.x + 1}H{piece.ansi}"

    def _scroll(self, rows: Mapping[int, Sequence[Piece]]) -> str:
        """Let the terminal move the rows of the largest block that moved as a whole, and note what it shows then."""
        block = self._whole_rows(rows)
        if len(block) < 2 * LEAST_MOVED:
            return ""
        moved = self._vote({y: rows[y][0] for y in block})
        if not moved or abs(moved) >= len(block):
            return ""
        top, bottom = block[0], block[-1]
        kept = {y - moved: self._rows.get(y, {}) for y in block if top <= y - moved <= bottom}
        for y in block:
            row = kept.get(y, {})
            self._rows[y] = {} if any(_ODD.search(piece.strip.text) for piece in row.values()) else row
        final = "S" if moved > 0 else "T"
        return f"\x1b[0m\x1b[{top + 1};{bottom + 1}r\x1b[{abs(moved)}{final}\x1b[r"

    def _whole_rows(self, rows: Mapping[int, Sequence[Piece]]) -> list[int]:
        """Give the longest run of neighbouring rows that one piece fills from edge to edge."""
        best: list[int] = []
        run: list[int] = []
        for y in sorted(rows):
            fills = len(rows[y]) == 1 and rows[y][0].x == 0 and rows[y][0].end >= self._size[0]
            run = ([*run, y] if run and run[-1] == y - 1 else [y]) if fills else []
            best = max(best, run, key=len)
        return best

    def _vote(self, block: Mapping[int, Piece]) -> int:
        """Give by how many rows most rows moved up (negative: down), 0 when too few agree. Blank rows have no vote."""
        places: dict[str, list[int]] = {}
        for y in block:
            old = self._rows.get(y, {}).get(0)
            if old is not None and old.end == block[y].end and not old.strip.text.isspace():
                places.setdefault(old.ansi, []).append(y)
        votes: dict[int, int] = {}
        for y, piece in block.items():
            for was in places.get(piece.ansi, ()):
                votes[was - y] = votes.get(was - y, 0) + 1
        moved = max(votes, key=lambda step: (votes[step], -abs(step)), default=0)
        return moved if moved and votes[moved] >= LEAST_MOVED and votes[moved] > votes.get(0, 0) else 0


def _pieces(update: LayoutUpdate | ChopsUpdate, console: Console) -> Iterable[tuple[int, list[Piece]]]:
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            row: list[Piece] = []
            x = update.region.x
            for strip in strips:
                row.append(Piece(x, x + strip.cell_length, strip, strip.render(console)))
                x += strip.cell_length
            yield y, row
        return
    rows: dict[int, list[Piece]] = {}
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x > x2 or end <= x1:
                continue
            if end > x2 or x >= x2:
                strip = strip.crop(0, min(end, x2) - x)
            if strip.cell_length:
                rows.setdefault(y, []).append(Piece(x, x + strip.cell_length, strip, strip.render(console)))
    yield from rows.items()


def _changed_cells(y: int, old: Piece, new: Piece, console: Console) -> str:
    """Write a piece without the cells at its start and end that are the same as before."""
    before, after = list(old.strip), list(new.strip)
    start = _same_start(before, after)
    stop = new.end - new.x - _same_end(before, after)
    if start >= stop:
        return f"\x1b[{y + 1};{new.x + 1}H{new.ansi}"
    return f"\x1b[{y + 1};{new.x + start + 1}H{new.strip.crop(start, stop).render(console)}"


def _same_start(before: Sequence[Segment], after: Sequence[Segment]) -> int:
    """Count the cells that are equal at the start."""
    cells = 0
    for one, two in zip(before, after, strict=False):
        if one != two:
            return cells + (cell_len(_common(one.text, two.text)) if one.style == two.style else 0)
        cells += one.cell_length
    return cells


def _common(one: str, two: str) -> str:
    size = next(
        (n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )
    return one[:size]


def _same_end(before: Sequence[Segment], after: Sequence[Segment]) -> int:
    """Count the cells that are equal at the end."""
    return _same_start(_reversed(before), _reversed(after))


def _reversed(segments: Sequence[Segment]) -> list[Segment]:
    return [Segment(text[::-1], style, control) for text, style, control in reversed(segments)]


class _Diffed(CompositorUpdate):
    """An update that is written as the difference to what the terminal shows."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, rows: RowDiff, size: tuple[int, int]) -> None:
        self._update = update
        self._rows = rows
        self._size = size

    def render_segments(self, console: Console) -> str:
        return self._rows.encode(self._update, console, self._size)

    def __rich__(self) -> str:
        return ""  # a difference has no picture of its own; Textual only ever asks for render_segments


class RowDiffApp(App[ReturnType]):
    """An app that writes by difference. Call `watch_terminal` on mount, `redraw` when something else has written.

    `diffs_rows` False writes as Textual does, for terminals that do not know scroll regions.
    """

    diffs_rows = True
    _terminal_rows: RowDiff | None = None
    _hold: Timer | None = None

    def watch_terminal(self) -> None:
        """Forget what the terminal shows each time the program was suspended."""
        signal = cast("Signal[App[object]]", self.app_resume_signal)  # pyright: ignore[reportUnknownMemberType]  # bare App
        signal.subscribe(self, self._resumed)

    def _resumed(self, _: App[object]) -> None:
        self.redraw()

    @property
    def terminal_rows(self) -> RowDiff:
        """What the terminal shows."""
        if self._terminal_rows is None:
            self._terminal_rows = RowDiff(erases=knows_erase(os.environ))
        return self._terminal_rows

    def redraw(self) -> None:
        """Write the whole screen again, whatever it is thought to show."""
        self.terminal_rows.reset()
        self.refresh(layout=True)
        self.screen.refresh()

    @property
    def holds_frames(self) -> bool:
        """Whether frames are held back."""
        return self._hold is not None

    def hold_frames(self, *, most_s: float) -> None:
        """Write no frame until `release_frames`, or until `most_s` seconds have passed."""
        self.release_frames()
        self._hold = self.set_timer(most_s, self.release_frames)

    def release_frames(self) -> None:
        """Write what the held frames came to; without held ones it does nothing."""
        if self._hold is not None:
            self._hold.stop()
            self._hold = None
            self.screen.refresh()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if self._hold is not None:
            return
        shown = renderable
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and self.diffs_rows and not self.is_inline:
            width, height = self.size
            shown = _Diffed(renderable, self.terminal_rows, (width, height))
        super()._display(screen, shown)  # pyright: ignore[reportUnknownMemberType]  # Screen without its parameter


_KNOWN = (
    "xterm",
    "tmux",
    "screen",
    "alacritty",
    "kitty",
    "foot",
    "wezterm",
    "ghostty",
    "rxvt",
    "st",
    "vte",
    "konsole",
)


def knows_erase(environment: Mapping[str, str]) -> bool:
    """Tell whether erasing fills with the colour of the ground (BCE); GNU screen does not."""
    return not environment.get("TERM", "").startswith("screen") or bool(environment.get("TMUX"))


def draws_by_rows(environment: Mapping[str, str]) -> bool:
    """Tell whether the terminal is known to scroll regions (DECSTBM with SU and SD) as we count on."""
    return environment.get("TERM", "").startswith(_KNOWN)

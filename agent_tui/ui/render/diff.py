"""Unified diffs on screen: numbers, syntax colours, changed words; one column or two, rows made when asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent_tui.ui.palette import Palette, ink_on
from agent_tui.ui.render.diff_parse import Diff, DiffLine, Hunk, changed_words, parse_diff
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Row, Span, cells, expand_tabs, fit, marked, slice_runs, wrap

if TYPE_CHECKING:
    from agent_tui.ui.render.highlight import Highlighter

SIGNS = {"add": "+", "del": "-", "context": " "}
TWO_NUMBERS_CELLS = 60
SIDE_BY_SIDE_CELLS = 120
MIDDLE = " │ "


class DiffView:
    """A unified diff (`text` may hold several files). `path` names the language when the diff names no file.

    Give `palette` or `inks`. `hunks`, `files`, `added` and `removed` say what it holds.
    """

    def __init__(
        self, text: str, *, palette: Palette | None = None, inks: Inks | None = None, path: str = ""
    ) -> None:
        self.inks = inks or Inks(palette or Palette.DARK)
        self.diff: Diff = parse_diff(text)
        self._path = path
        self._sides: dict[tuple[int, bool], _Side] = {}
        self._words: dict[int, tuple[tuple[int, int], ...]] = {}

    @property
    def hunks(self) -> Sequence[Hunk]:
        """The hunks in order; `Hunk.line` is an index for `DiffBody.row_of_line`."""
        return self.diff.hunks

    @property
    def files(self) -> Sequence[str]:
        """The paths of the files in order."""
        return self.diff.files

    @property
    def added(self) -> int:
        """How many lines are added in all."""
        return sum(hunk.added for hunk in self.diff.hunks)

    @property
    def removed(self) -> int:
        """How many lines are removed in all."""
        return sum(hunk.removed for hunk in self.diff.hunks)

    def body(self, width: int, *, side_by_side: bool = False, wrap: bool = True) -> DiffBody:
        """Lay the diff out in `width` cells. Without `wrap` long lines end in `…`."""
        return DiffBody(self, width, side_by_side=side_by_side, wrap_lines=wrap)

    def runs(self, index: int) -> list[Segment]:
        """Give the coloured text of a line of the diff, tabs expanded, changed words marked."""
        line = self.diff.lines[index]
        side, place = self._side(line.hunk, is_old=line.kind == "del"), index
        runs: Sequence[Segment] = side.runs(place)
        if line.mate < 0:
            return list(runs)
        palette = self.inks.palette
        behind = palette.diff_del_word if line.kind == "del" else palette.diff_add_word
        mark = self.inks(ink_on(palette, behind), behind)
        return marked(runs, [(start, end, mark) for start, end in self._changed(index)])

    def _changed(self, index: int) -> tuple[tuple[int, int], ...]:
        known = self._words.get(index)
        if known is None:
            line = self.diff.lines[index]
            old, new = (index, line.mate) if line.kind == "del" else (line.mate, index)
            lines = self.diff.lines
            self._words[old], self._words[new] = changed_words(
                expand_tabs(lines[old].text), expand_tabs(lines[new].text)
            )
            known = self._words[index]
        return known

    def _side(self, hunk: int, *, is_old: bool) -> _Side:
        side = self._sides.get((hunk, is_old))
        if side is None:
            wanted = ("del", "context") if is_old else ("add", "context")
            places = [
                place
                for place in range(self._start(hunk), self._start(hunk + 1))
                if self.diff.lines[place].kind in wanted
            ]
            texts = [self.diff.lines[place].text for place in places]
            path = (self.diff.hunks[hunk].path if 0 <= hunk < len(self.diff.hunks) else "") or self._path
            from agent_tui.ui.render.highlight import Highlighter  # pygments: 48 ms of CPU, on first use

            side = _Side(places, Highlighter(texts, self.inks, path=path))
            self._sides[hunk, is_old] = side
        return side

    def _start(self, hunk: int) -> int:
        if hunk < 0:
            return 0
        return self.diff.hunks[hunk].line if hunk < len(self.diff.hunks) else len(self.diff.lines)


class _Side:
    """The lines of one side of a hunk, so that each is coloured in the context it has in its file."""

    def __init__(self, places: Sequence[int], highlighter: Highlighter) -> None:
        self._index = {place: number for number, place in enumerate(places)}
        self._highlighter = highlighter

    def runs(self, place: int) -> list[Segment]:
        return self._highlighter.line(self._index[place])


class _Item(NamedTuple):
    """What stands side by side on one or more rows: indexes of lines, -1 for none. One column uses `left` only."""

    left: int
    right: int = -1


class DiffBody:
    """The rows of a diff at one width."""

    def __init__(self, view: DiffView, width: int, *, side_by_side: bool, wrap_lines: bool) -> None:
        self._view = view
        self._lines = view.diff.lines
        self._width = max(1, width)
        self._two = side_by_side
        self._wrap = wrap_lines
        biggest = max((max(line.old, line.new) for line in self._lines), default=0)
        self._digits = max(1, len(str(biggest)))
        self._items = self._side_by_side() if side_by_side else self._one_column()
        self._wrapped: tuple[str, list[Span]] = ("", [Span(0, 0, 0)])  # the last line asked for
        self._starts = [0]
        for item in self._items:
            self._starts.append(self._starts[-1] + self._rows_of(item))

    @property
    def height(self) -> int:
        return self._starts[-1]

    def row_of_line(self, index: int) -> int:
        """Give the first row of a line of the diff; 0 when it is not drawn."""
        for place, item in enumerate(self._items):
            if index in item:
                return self._starts[place]
        return 0

    def row(self, index: int) -> Row:
        place = bisect_right(self._starts, index) - 1
        item, part = self._items[place], index - self._starts[place]
        line = self._lines[item.left if item.left >= 0 else item.right]
        if line.kind in ("file", "hunk", "note"):
            return self._head(line)
        return self._pair(item, part) if self._two else self._single(item.left, part)

    def strips(self, start: int, stop: int) -> list[Strip]:
        """Draw rows `start` to `stop`, padded to the width on the palette's background."""
        return [self._strip(self.row(index)) for index in range(start, min(stop, self.height))]

    def _strip(self, row: Row) -> Strip:
        base = self._view.inks.base + row.fill if row.fill else self._view.inks.base
        segments = [Segment(text, base + style if style else base) for text, style, _ in row.runs]
        return Strip(segments).adjust_cell_length(self._width, base)

    def _one_column(self) -> list[_Item]:
        several = len(self._view.files) > 1
        return [_Item(n) for n, line in enumerate(self._lines) if several or line.kind != "file"]

    def _side_by_side(self) -> list[_Item]:
        items: list[_Item] = []
        for item in self._one_column():
            line = self._lines[item.left]
            if line.kind == "context":
                items.append(_Item(item.left, item.left))
            elif line.kind == "del":
                items.append(_Item(item.left, line.mate))
            elif line.kind != "add":
                items.append(item)
            elif line.mate < 0:
                items.append(_Item(-1, item.left))
        return items

    # -- widths

    @property
    def _numbers(self) -> int:
        """Cells of the line numbers of one column."""
        if self._two:
            return self._digits + 1
        return (self._digits + 1) * (2 if self._width >= TWO_NUMBERS_CELLS else 1)

    @property
    def _text_width(self) -> int:
        column = (self._width - len(MIDDLE)) // 2 if self._two else self._width
        return max(1, column - self._numbers - 2)

    def _rows_of(self, item: _Item) -> int:
        if not self._wrap or self._lines[max(item)].kind in ("file", "hunk", "note"):
            return 1
        width = self._text_width
        return max(len(wrap(expand_tabs(self._lines[n].text), width)) for n in item if n >= 0)

    # -- rows

    def _head(self, line: DiffLine) -> Row:
        inks, palette = self._view.inks, self._view.inks.palette
        match line.kind:
            case "file":
                style = inks(palette.text, attributes="b")
            case "hunk":
                style = inks(palette.diff_hunk)
            case _:
                style = inks.faint
        return Row([Segment(fit(line.text, self._width), style)], source=line.text)

    def _single(self, index: int, part: int) -> Row:
        line = self._lines[index]
        numbers = [line.old, line.new] if self._numbers > self._digits + 1 else [line.new or line.old]
        return self._column(index, part, numbers)

    def _column(self, index: int, part: int, numbers: Sequence[int]) -> Row:
        inks, line = self._view.inks, self._lines[index]
        fill, colour = self._colours(line)
        head = "".join(
            [
                f"{number or '':>{self._digits}} " if part == 0 else " " * (self._digits + 1)
                for number in numbers
            ]
        )
        sign = f"{SIGNS[line.kind]} " if part == 0 else "  "
        decoration = [
            Segment(head, inks(colour if fill else inks.palette.line_number)),
            Segment(sign, inks(colour, attributes="b")),
        ]
        runs, join = self._text(index, part)
        source = line.text if "\t" in line.text and join is None and part == 0 else None
        return Row([*decoration, *runs], len(head) + len(sign), join, fill, source)

    def _text(self, index: int, part: int) -> tuple[Sequence[Segment], str | None]:
        runs = self._view.runs(index)
        text = "".join([run.text for run in runs])
        if not self._wrap:
            return self._cut(runs, text), None
        if self._wrapped[0] != text:
            self._wrapped = (text, wrap(text, self._text_width))
        spans = self._wrapped[1]
        if part >= len(spans):
            return [], ""
        span = spans[part]
        join = text[span.end : span.after] if part < len(spans) - 1 else None
        return slice_runs(runs, [span])[0], join

    def _cut(self, runs: Sequence[Segment], text: str) -> Sequence[Segment]:
        shown = fit(text, self._text_width)
        if shown == text:
            return runs
        span = wrap(text[: len(shown) - 1], 1 << 20)[0]
        return [*slice_runs(runs, [span])[0], Segment("…", self._view.inks.faint)]

    def _colours(self, line: DiffLine) -> tuple[Style | None, str]:
        inks, palette = self._view.inks, self._view.inks.palette
        if line.kind == "add":
            return inks("", palette.diff_add_bg), palette.diff_add
        if line.kind == "del":
            return inks("", palette.diff_del_bg), palette.diff_del
        return None, palette.faint

    def _pair(self, item: _Item, part: int) -> Row:
        inks = self._view.inks
        width = (self._width - len(MIDDLE)) // 2
        middle = Segment(MIDDLE, inks(inks.palette.border))
        left = self._half(item.left, part, width, is_old=True)
        right = self._half(item.right, part, self._width - width - len(MIDDLE), is_old=False)
        return Row([*left, middle, *right])

    def _half(self, index: int, part: int, width: int, *, is_old: bool) -> list[Segment]:
        if index < 0:
            return [Segment(" " * width, self._view.inks("", self._view.inks.palette.surface))]
        line = self._lines[index]
        row = self._column(index, part, [line.old if is_old else line.new])
        fill = row.fill
        runs = [
            Segment(text, fill + style if fill and style else style or fill) for text, style, _ in row.runs
        ]
        spare = width - cells(runs)
        return [*runs, Segment(" " * spare, fill)] if spare > 0 else runs

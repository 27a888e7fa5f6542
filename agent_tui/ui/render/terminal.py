"""Program output with its colours: SGR sequences become styles, redrawn lines their last state, the rest goes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from agent_tui.protocol.numbers import whole_number
from agent_tui.ui.render.code import Lines, split_lines
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Body, expand_tabs
from agent_tui.ui.render.safe import clean

# CSI; OSC, DCS, SOS, PM, APC with their text; other escapes of two or three characters; the C1 forms of CSI.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<args>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])(?:[^\x07\x1b\x9c\n]|\x1b(?!\\))*(?:\x07|\x1b\\|\x9c|(?=\n)|$)"
    r"|\x1b[ -/]*[0-~]"
)
_MOVES = re.compile(r"[\r\x08]|\x1b\[[0-9;]*[CDGK]")
TAB_COLUMNS = 8
_MAX_COLUMN = 4_000
_ON = {1: "b", 3: "i", 4: "u", 7: "r", 9: "s"}
_OFF = {22: "b", 23: "i", 24: "u", 27: "r", 29: "s"}


class _Pen:
    """The colours and attributes that text is written with."""

    def __init__(self, inks: Inks) -> None:
        self._inks = inks
        self._colour = self._back = ""
        self._attributes = ""
        self._dim = False
        self.style = inks.text

    def select(self, args: str) -> None:
        """Obey one SGR sequence."""
        numbers = [whole_number(part) or 0 for part in args.replace(":", ";").split(";")]
        at = 0
        while at < len(numbers):
            at += self._one(numbers, at)
        palette = self._inks.palette
        colour = self._colour or (palette.muted if self._dim else palette.text)
        self.style = self._inks(colour, self._back, self._attributes)

    def _one(self, numbers: Sequence[int], at: int) -> int:
        """Obey the number at `at`; gives how many numbers were used."""
        code, ansi = numbers[at], self._inks.palette.ansi
        if code in _ON:
            self._attributes = "".join(sorted({*self._attributes, _ON[code]}))
        elif code in _OFF:
            self._attributes = self._attributes.replace(_OFF[code], "")
        match code:
            case 0:
                self._colour = self._back = self._attributes = ""
                self._dim = False
            case 2:
                self._dim = True
            case 22:
                self._dim = False
            case 39:
                self._colour = ""
            case 49:
                self._back = ""
            case 38 | 48:
                return self._extended(numbers, at)
            case _ if 30 <= code <= 37:
                self._colour = ansi[code - 30]
            case _ if 90 <= code <= 97:
                self._colour = ansi[code - 82]
            case _ if 40 <= code <= 47:
                self._back = ansi[code - 40]
            case _ if 100 <= code <= 107:
                self._back = ansi[code - 92]
            case _:
                pass
        return 1

    def _extended(self, numbers: Sequence[int], at: int) -> int:
        kind = numbers[at + 1] if at + 1 < len(numbers) else 0
        used = {5: 3, 2: 5}.get(kind, 1)
        values = [min(255, number) for number in numbers[at + 2 : at + used]]
        if kind == 5 and len(values) == 1:
            colour = self._indexed(values[0])
        elif kind == 2 and len(values) == 3:
            colour = "#{:02x}{:02x}{:02x}".format(*values)
        else:
            return used
        if numbers[at] == 38:
            self._colour = colour
        else:
            self._back = colour
        return used

    def _indexed(self, number: int) -> str:
        if number < 16:
            return self._inks.palette.ansi[number]
        red, green, blue = Color.from_ansi(number).get_truecolor()
        return f"#{red:02x}{green:02x}{blue:02x}"


def terminal_lines(text: str, inks: Inks) -> list[list[Segment]]:
    """Give the runs of each line of program output, tabs expanded, safe to draw."""
    pen = _Pen(inks)
    return [_line(line, pen) for line in split_lines(text.replace("\r\n", "\n"))]


def _line(line: str, pen: _Pen) -> list[Segment]:
    if "\x1b" not in line and "\x9b" not in line and "\r" not in line and "\x08" not in line:
        return [Segment(expand_tabs(clean(line), TAB_COLUMNS), pen.style)]
    if _MOVES.search(line):
        return _overwritten(line, pen)
    runs: list[Segment] = []
    at, columns = 0, ""
    for found in [*_SEQUENCE.finditer(line), None]:
        piece = clean(line[at : found.start() if found else len(line)])
        if piece:
            grown = expand_tabs(columns + piece, TAB_COLUMNS)
            runs.append(Segment(grown[len(columns) :], pen.style))
            columns = grown
        if found:
            at = found.end()
            if found["final"] == "m":
                pen.select(found["args"])
    return runs


def _overwritten(line: str, pen: _Pen) -> list[Segment]:
    """Write a line that moves its cursor and give what stands there in the end."""
    cells: list[tuple[str, Style]] = []
    column, at = 0, 0
    while at < len(line):
        found = _SEQUENCE.match(line, at)
        if found:
            at = found.end()
            column = _moved(found["final"] or "", found["args"] or "", column, cells, pen)
            continue
        char = line[at]
        at += 1
        if char == "\r":
            column = 0
        elif char == "\x08":
            column = max(0, column - 1)
        else:
            for piece in clean(char) if char != "\t" else " " * (TAB_COLUMNS - column % TAB_COLUMNS):
                cells += [(" ", pen.style)] * (column + 1 - len(cells))
                cells[column] = (piece, pen.style)
                column = min(column + 1, _MAX_COLUMN)
    return _joined(cells)


def _moved(final: str, args: str, column: int, cells: list[tuple[str, Style]], pen: _Pen) -> int:
    number = whole_number(args) or 0
    match final:
        case "m":
            pen.select(args)
        case "C":
            return min(_MAX_COLUMN, column + max(1, number))
        case "D":
            return max(0, column - max(1, number))
        case "G":
            return min(_MAX_COLUMN, max(0, number - 1))
        case "K":
            if number == 0:
                del cells[column:]
            elif number == 2:
                cells.clear()
            else:
                cells[: column + 1] = [(" ", pen.style)] * min(len(cells), column + 1)
        case _:
            pass
    return column


def _joined(cells: Sequence[tuple[str, Style]]) -> list[Segment]:
    runs: list[Segment] = []
    for char, style in cells:
        if runs and runs[-1].style is style:
            runs[-1] = Segment(runs[-1].text + char, style)
        else:
            runs.append(Segment(char, style))
    return runs


def terminal_body(text: str, width: int, inks: Inks) -> Body:
    """Lay out program output."""
    runs = terminal_lines(text, inks)
    lines = ["".join([run.text for run in line]) for line in runs]
    return Lines(lines, runs.__getitem__, width, tab_columns=TAB_COLUMNS)

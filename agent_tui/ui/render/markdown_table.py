"""Tables: column widths that fit, cells that wrap, and a list of records when there is no room for columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.segment import Segment

from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Row, cells, wrap_runs

Cell = list[list[Segment]]
FITTED_ROWS = 200
LEAST_CELLS = 6
SEPARATOR = " │ "


class Table(NamedTuple):
    """Cells by row, the head first; `aligns` per column: left, right, center or ""."""

    rows: Sequence[Sequence[Cell]]
    aligns: Sequence[str]


def table_rows(table: Table, width: int, inks: Inks) -> list[Row]:
    """Lay a table out in at most `width` cells."""
    natural = _natural(table)
    if not natural:
        return []
    room = width - len(SEPARATOR) * (len(natural) - 1)
    if room < min(sum(natural), LEAST_CELLS * len(natural)):
        return _records(table, width, inks)
    widths = fit_columns(natural, room)
    rule = inks(inks.palette.rule)
    result: list[Row] = []
    for number, row in enumerate(table.rows):
        result += _row(row, widths, table.aligns, Segment(SEPARATOR, rule))
        if number == 0:
            line = "─┼─".join(["─" * size for size in widths])
            result.append(Row([Segment(line, rule)], len(line), join=""))
    return result


def _natural(table: Table) -> list[int]:
    widths = [1] * max((len(row) for row in table.rows), default=0)
    for row in table.rows[:FITTED_ROWS]:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], *[cells(line) for line in cell], 1)
    return widths


def fit_columns(natural: Sequence[int], room: int) -> list[int]:
    """Share `room` cells: narrow columns keep their width, the wide ones get the same share of the rest."""
    widths = list(natural)
    if sum(widths) <= room:
        return widths
    wide = set(range(len(widths)))
    left = room
    while wide:
        share = max(1, left // len(wide))
        small = [column for column in wide if natural[column] <= share]
        if not small:
            for place, column in enumerate(sorted(wide)):
                widths[column] = share + (1 if place < left - share * len(wide) else 0)
            break
        for column in small:
            left -= natural[column]
            wide.discard(column)
    return widths


def _row(row: Sequence[Cell], widths: Sequence[int], aligns: Sequence[str], separator: Segment) -> list[Row]:
    wrapped: list[list[Sequence[Segment]]] = []
    for column, width in enumerate(widths):
        cell: Cell = row[column] if column < len(row) else [[]]
        wrapped.append([part.runs for line in cell for part in wrap_runs(line, width)])
    result: list[Row] = []
    for number in range(max(len(lines) for lines in wrapped)):
        runs: list[Segment] = []
        for column, lines in enumerate(wrapped):
            if column:
                runs.append(separator)
            align = aligns[column] if column < len(aligns) else ""
            runs += _aligned(lines[number] if number < len(lines) else [], widths[column], align)
        result.append(Row(runs))
    return result


def _aligned(runs: Sequence[Segment], width: int, align: str) -> list[Segment]:
    spare = max(0, width - cells(runs))
    before = spare if align == "right" else spare // 2 if align == "center" else 0
    padded = [Segment(" " * before)] if before else []
    padded += runs
    return [*padded, Segment(" " * (spare - before))] if spare > before else padded


def _records(table: Table, width: int, inks: Inks) -> list[Row]:
    """Show each row as lines `head: cell`."""
    result: list[Row] = []
    head: Sequence[Cell] = table.rows[0] if table.rows else ()
    for row in table.rows[1:]:
        if result:
            result.append(Row(()))
        for column, cell in enumerate(row):
            name = "".join([run.text for line in head[column] for run in line]) if column < len(head) else ""
            first = [
                Segment(f"{name}: ", inks(inks.palette.muted, attributes="b")),
                *(cell[0] if cell else []),
            ]
            for line in [first, *cell[1:]]:
                result += wrap_runs(line, width)
    return result

"""Markdown to rows: markdown-it parses, the layout is ours. Input must have passed `clean`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.segment import Segment

from agent_tui.ui.render.code import split_lines
from agent_tui.ui.render.highlight import Highlighter
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.markdown_inline import Inline
from agent_tui.ui.render.markdown_table import Cell, Table, table_rows
from agent_tui.ui.render.rows import Row, indent, wrap_runs
from agent_tui.ui.render.safe import clean

BLANK = Row(())
BULLETS = "•◦▪"
QUOTE_BAR = "▎ "
NESTING_LIMIT = 12
LISTS = ("bullet_list_open", "ordered_list_open")
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """Give the one parser: CommonMark with tables and strikethrough; html stays text."""
    return MarkdownIt("commonmark", {"maxNesting": 20}).enable(["table", "strikethrough"])


def render(text: str, width: int, inks: Inks) -> list[Row]:
    """Lay out a whole text in rows of at most `width` cells."""
    lines = text.split("\n")
    return Layout(inks, width).blocks(parser().parse(text), lines)


class Layout:
    """Lays out tokens of block level."""

    def __init__(self, inks: Inks, width: int, depth: int = 0, colour: str = "") -> None:
        self._inks = inks
        self._palette = inks.palette
        self._width = max(1, width)
        self._depth = depth
        self._colour = colour

    def blocks(self, tokens: Sequence[Token], lines: Sequence[str]) -> list[Row]:
        """Lay out blocks with an empty row between neighbours."""
        rows: list[Row] = []
        for start, end in top_level(tokens):
            block = self.block(tokens[start:end], lines)
            if rows and block:
                rows.append(BLANK)
            rows += block
        return rows

    def block(self, tokens: Sequence[Token], lines: Sequence[str]) -> list[Row]:
        """Lay out one block."""
        first, inner = tokens[0], tokens[1:-1]
        match first.type:
            case "heading_open":
                return self._heading(first, inner)
            case "paragraph_open":
                return self._inline(inner[0], self._colour) if inner else []
            case "fence" | "code_block":
                return self._code(first)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(tokens, lines)
            case "blockquote_open":
                return self._quote(inner, lines)
            case "table_open":
                return table_rows(self._table(inner), self._width, self._inks)
            case "hr":
                rule = "─" * self._width
                return [Row([Segment(rule, self._inks(self._palette.rule))], source="---")]
            case _:
                return self._literal(first.content)

    def _inline(self, token: Token, colour: str = "", attributes: str = "") -> list[Row]:
        inline = Inline(self._inks, colour, attributes)
        rows: list[Row] = []
        for line in inline.lines(token.children or ()):
            rows += wrap_runs(line, self._width)
        return rows

    def _heading(self, first: Token, inner: Sequence[Token]) -> list[Row]:
        level = int(first.tag[1])
        if not inner:
            return []
        if level <= 2:
            return self._inline(inner[0], self._palette.heading, "bu" if level == 1 else "b")
        return self._inline(inner[0], self._palette.heading if level == 3 else self._palette.muted, "b")

    def _literal(self, content: str) -> list[Row]:
        rows: list[Row] = []
        for line in split_lines(clean(content).rstrip("\n")):
            rows += wrap_runs([Segment(line.expandtabs(4), self._inks.muted)], self._width)
        return rows

    def _code(self, token: Token) -> list[Row]:
        code = CodeRows(self._inks, self._width, token.info)
        code.lines.extend(split_lines(clean(token.content)) if token.content else [])
        return code.rows(0, len(code.lines))

    def _quote(self, inner: Sequence[Token], lines: Sequence[str]) -> list[Row]:
        bar = Segment(QUOTE_BAR, self._inks(self._palette.rule))
        rows = self._nested(len(QUOTE_BAR), self._palette.quote).blocks(inner, lines)
        return indent(rows, [bar], [bar])

    def _nested(self, cells: int, colour: str = "") -> Layout:
        taken = cells if self._depth < NESTING_LIMIT else 0
        return Layout(self._inks, self._width - taken, self._depth + 1, colour or self._colour)

    def _list(self, tokens: Sequence[Token], lines: Sequence[str]) -> list[Row]:
        rows: list[Row] = []
        for count, item in enumerate(list_items(tokens)):
            if count and blank_before(lines, item[0]):
                rows.append(BLANK)
            rows += self.item(tokens[0], item, lines, first_number(tokens[0]) + count)
        return rows

    def item(self, opening: Token, item: Sequence[Token], lines: Sequence[str], number: int) -> list[Row]:
        """Lay out one item of the list that `opening` begins."""
        is_ordered = opening.type == "ordered_list_open"
        marker = f"{number}{opening.markup} " if is_ordered else f"{BULLETS[min(2, self._depth)]} "
        marker, inner = _task(marker, item[1:-1])
        bullet = Segment(marker, self._inks(self._palette.accent))
        rest = Segment(" " * len(marker))
        nested = self._nested(len(marker))
        rows: list[Row] = []
        for start, end in top_level(inner):
            block = nested.block(inner[start:end], lines)
            if rows and block and blank_before(lines, inner[start]):
                rows.append(BLANK)
            rows += block
        if self._depth >= NESTING_LIMIT:
            return rows or [Row([bullet], len(marker))]
        return indent(rows or [BLANK], [bullet], [rest])

    def _table(self, inner: Sequence[Token]) -> Table:
        rows: list[list[Cell]] = []
        aligns: list[str] = []
        is_head = True
        for place, token in enumerate(inner):
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "tbody_open":
                is_head = False
            elif token.type in ("th_open", "td_open"):
                content = inner[place + 1]
                inline = Inline(self._inks, self._colour, "b" if is_head else "")
                rows[-1].append(inline.lines(content.children or ()))
                if is_head:
                    aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
        return Table(rows, aligns)


class CodeRows:
    """Rows of a code block whose `lines` may grow at the end; `info` is what stands behind the fence."""

    def __init__(self, inks: Inks, width: int, info: str) -> None:
        self.lines: list[str] = []
        self.highlighter = Highlighter(self.lines, inks, language=clean(info))
        self._width = max(1, width - 2)
        self._pad = Segment(" ")
        self._fill = inks("", inks.palette.code_bg)

    def rows(self, first: int, stop: int) -> list[Row]:
        """Lay out lines `first` to `stop`."""
        result: list[Row] = []
        for number in range(first, stop):
            line = self.lines[number]
            wrapped = wrap_runs(self.highlighter.line(number), self._width)
            source = line if "\t" in line and len(wrapped) == 1 else None
            result += [Row([self._pad, *row.runs], 1, row.join, self._fill, source) for row in wrapped]
        return result


def top_level(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Give the (start, end) of each block among `tokens`, their nesting being balanced."""
    spans: list[tuple[int, int]] = []
    depth = start = 0
    for place, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            spans.append((start, place + 1))
            start = place + 1
    return spans


def list_items(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Give the tokens of each item of a list, with the item's own opening and closing."""
    inner = tokens[1:-1]
    return [inner[start:end] for start, end in top_level(inner)]


def first_number(opening: Token) -> int:
    """Give the number an ordered list begins with."""
    start = opening.attrGet("start")
    return int(start) if start is not None else 1


def blank_before(lines: Sequence[str], token: Token) -> bool:
    """Say whether an empty line stands above a block in the source, quote marks not counted."""
    if not token.map or token.map[0] < 1:
        return False
    return not lines[token.map[0] - 1].strip(" \t>")


def _task(marker: str, inner: Sequence[Token]) -> tuple[str, Sequence[Token]]:
    """Turn `[x] ` at the start of an item into a box."""
    if len(inner) < 2 or inner[0].type != "paragraph_open" or not inner[1].children:
        return marker, inner
    first = inner[1].children[0]
    box = _TASKS.get(first.content[:4]) if first.type == "text" else None
    if box is None:
        return marker, inner
    text = first.copy(content=first.content[4:])
    inline = inner[1].copy(children=[text, *inner[1].children[1:]])
    return box if not marker[0].isdigit() else marker + box, [inner[0], inline, *inner[2:]]

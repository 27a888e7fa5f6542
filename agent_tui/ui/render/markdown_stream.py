"""Markdown that grows: what can no longer change is laid out once, only the tail again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from markdown_it.token import Token

from agent_tui.ui.render.highlight import PAGE
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.markdown import (
    BLANK,
    LISTS,
    CodeRows,
    Layout,
    blank_before,
    first_number,
    list_items,
    parser,
    top_level,
)
from agent_tui.ui.render.rows import Row
from agent_tui.ui.render.safe import clean

Target = Mapping[str, object]


class MarkdownStream:
    """Rows of a growing text, after each flush equal to `markdown.render` of all of it.

    A block is finished when a block below it has begun with two whole lines: then no further text can change it
    (a single line can still turn into part of a paragraph or table). The last list gives up its items in the
    same way. An open fence goes on line by line; its code is finished by pages. When a link target turns up
    that was not known before, everything is laid out again, for the text above may use it.
    """

    def __init__(self, inks: Inks, width: int) -> None:
        self._inks = inks
        self._layout = Layout(inks, width)
        self._width = width
        self._parts: list[str] = []
        self._waiting: list[str] = []
        self.rows: list[Row] = []
        self._known: dict[str, tuple[object, object]] = {}
        self._restart("")

    @property
    def text(self) -> str:
        """All that was appended, as it came."""
        return "".join(self._parts)

    def append(self, text: str) -> None:
        """Take more text; nothing is laid out yet."""
        self._parts.append(text)
        self._waiting.append(text)

    @property
    def is_behind(self) -> bool:
        """Whether text waits to be laid out (half of a line end does not count)."""
        return any(part != "\r" for part in self._waiting)

    def flush(self, limit_chars: int = 1 << 60) -> int:
        """Lay out what came, at most so many characters of it; gives the first row that may have changed."""
        waiting = "".join(self._waiting)
        new, rest = waiting[:limit_chars], waiting[limit_chars:]
        if new.endswith("\r"):  # may be the first half of a line end
            new, rest = new[:-1], "\r" + rest
        self._waiting = [rest] if rest else []
        first = self._stable
        del self.rows[first:]
        self._tail += clean(new)
        if self._fence is None or self._continue_fence(self._fence):
            self._lay_out()
        return min(first, self._lowest)

    def _restart(self, text: str) -> None:
        self._done: list[str] = []
        self._tail = text
        self._stable = 0
        self._lowest = 0
        self._fence: OpenFence | None = None
        self._number: int | None = None  # of the next item while a list goes on at the start of the tail
        self._gap = False  # whether an empty line stands above that item
        self._targets: dict[str, Target] = {}
        self.rows.clear()

    def _lay_out(self) -> None:
        if self._tail.strip():
            tokens, targets = self._parsed()
            known = {key: (target["href"], target["title"]) for key, target in targets.items()}
            if known != self._known:
                self._restart("".join(self._done) + self._tail)
                self._known = known
                tokens, targets = self._parsed()
            else:
                self._lowest = self._stable
            self._place(tokens, targets)

    def _parsed(self) -> tuple[list[Token], dict[str, Target]]:
        env: dict[str, object] = {"references": dict(self._targets)}
        tokens = parser().parse(self._tail, env)
        return tokens, cast("dict[str, Target]", env["references"])

    def _place(self, tokens: Sequence[Token], targets: Mapping[str, Target]) -> None:
        """Put the rows of the tail's blocks below the finished ones and finish what can be."""
        lines = self._tail.split("\n")
        spans = top_level(tokens)
        settled = _last_settled([start_line(tokens[start:end]) for start, end in spans], lines)
        cut = 0
        was_number = self._number
        for place, (start, end) in enumerate(spans):
            block = tokens[start:end]
            goes_on = place == 0 and was_number is not None
            line = start_line(block)
            may_cut = place == len(spans) - 1 and line <= settled
            if place and line == settled:
                cut = self._finish(line)
            if may_cut and block[0].type == "fence" and self._begin_fence(block[0], lines, targets):
                return
            if block[0].type in LISTS:
                number, gap = (self._number, self._gap) if goes_on else (None, None)
                cut = self._list(block, lines, number, gap, may_cut) or cut
            else:
                self._put(self._layout.block(block, lines))
        self._cut(cut, lines, targets)

    def _put(self, block: Sequence[Row]) -> None:
        if self.rows and block:
            self.rows.append(BLANK)
        self.rows += block

    def _finish(self, line: int) -> int:
        self._stable = len(self.rows)
        self._number = None
        self._gap = False
        return line

    def _cut(self, line: int, lines: Sequence[str], targets: Mapping[str, Target]) -> None:
        """Begin the tail at one of its lines; what was defined above it stays known."""
        if line:
            done = "\n".join(lines[:line]) + "\n"
            self._done.append(done)
            self._tail = self._tail[len(done) :]
            self._targets.update(
                {
                    key: target
                    for key, target in targets.items()
                    if key in self._targets or _above(target, line)
                }
            )
            for key in self._targets:
                self._targets[key] = {**self._targets[key], "map": [-1, -1]}

    def _list(
        self,
        block: Sequence[Token],
        lines: Sequence[str],
        number: int | None,
        gap: bool | None,
        may_cut: bool,
    ) -> int:
        """Put the rows of a list; gives the line of the item before which the others are finished, 0 for none."""
        items = list_items(block)
        first = first_number(block[0]) if number is None else number
        settled = _last_settled([start_line(item) for item in items], lines) if may_cut else -1
        cut = 0
        for count, item in enumerate(items):
            line, has_gap = start_line(item), blank_before(lines, item[0])
            if count and line == settled and _margin(lines[line]) == _margin(lines[start_line(items[0])]):
                cut = self._finish(line)
                self._number, self._gap = first + count, has_gap
            rows = self._layout.item(block[0], item, lines, first + count)
            if count or gap is not None:
                self.rows += [BLANK] if (has_gap if count else gap) else []
                self.rows += rows
            else:
                self._put(rows)
        return cut

    def _begin_fence(self, token: Token, lines: Sequence[str], targets: Mapping[str, Target]) -> bool:
        line, end = token.map or [0, 0]
        fence = OpenFence(CodeRows(self._inks, self._width, token.info), token.markup, lines[line])
        if end - 1 > line and fence.closed_by(lines[end - 1]):
            return False
        self._finish(line)
        self._cut(line + 1, lines, targets)
        self._fence = fence
        self._continue_fence(fence)
        return True

    def _continue_fence(self, fence: OpenFence) -> bool:
        """Take the tail's lines as code; says whether the fence was closed and text follows."""
        *whole, partial = self._tail.split("\n")
        closing = next((place for place, line in enumerate(whole) if fence.closed_by(line)), None)
        fence.take(whole[:closing], partial if closing is None else "")
        self._put_code(fence, closing is not None)
        taken = len(whole) if closing is None else closing + 1
        self._done.append("".join([line + "\n" for line in whole[:taken]]))
        self._tail = "\n".join([*whole[taken:], partial])
        if closing is None:
            return False
        self._fence = None
        self._lowest = self._stable
        return True

    def _put_code(self, fence: OpenFence, is_closed: bool) -> None:
        code = fence.code
        if code.lines and self.rows and not fence.finished:
            self.rows.append(BLANK)
        full = len(code.lines) if is_closed else fence.whole // PAGE * PAGE
        if full > fence.finished or is_closed:
            self.rows += code.rows(fence.finished, full)
            fence.finished = full
            self._stable = len(self.rows)
        self.rows += code.rows(full, len(code.lines))


class OpenFence:
    """A fence that is not closed yet: its code, of which `whole` lines are complete and `finished` laid out."""

    def __init__(self, code: CodeRows, markup: str, opening: str) -> None:
        self.code = code
        self.whole = 0
        self.finished = 0
        self._indent = len(opening) - len(opening.lstrip(" "))
        self._closing = re.compile(rf" {{0,3}}{re.escape(markup[0])}{{{len(markup)},}}[ \t]*")

    def closed_by(self, line: str) -> bool:
        """Say whether `line` closes the fence."""
        return self._closing.fullmatch(line) is not None

    def take(self, whole: Sequence[str], partial: str) -> None:
        """Add whole lines, and the beginning of the next one unless it looks like the closing mark."""
        lines = self.code.lines
        del lines[self.whole :]
        lines += [dedent(line, self._indent) for line in whole]
        if partial.strip(" \t") and not self.closed_by(
            partial
        ):  # as markdown-it: a last line of blanks is no line
            lines.append(dedent(partial, self._indent))
        self.code.highlighter.grown(self.whole)
        self.whole += len(whole)


def dedent(line: str, columns: int) -> str:
    """Take up to `columns` of white space off the start of a line, as CommonMark counts tabs."""
    column = at = 0
    while at < len(line) and column < columns and line[at] in " \t":
        column += 1 if line[at] == " " else 4 - column % 4
        at += 1
    return " " * (column - columns) + line[at:]


def start_line(block: Sequence[Token]) -> int:
    """Give the line on which a block begins."""
    return block[0].map[0] if block[0].map else 0


def _last_settled(starts: Sequence[int], lines: Sequence[str]) -> int:
    """Give the last of `starts` that has two whole lines, so that no further text can undo what begins there."""
    return max((line for line in starts if line + 2 < len(lines)), default=-1)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _above(target: Target, line: int) -> bool:
    place = cast("list[int]", target["map"])
    return place[0] < line

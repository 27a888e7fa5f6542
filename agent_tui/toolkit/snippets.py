"""Some numbered lines around what changed."""

from collections.abc import Sequence

from agent_tui.toolkit.encoding import displayable
from agent_tui.toolkit.lines import body_of, split_lines
from agent_tui.toolkit.text_matching import line_of

AROUND_LINES = 2
LIMIT_LINES = 60
_LINE_LIMIT_CHARS = 500


def snippet(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Give the lines around each place (positions in `text`) with their numbers, gaps marked, at most 60 lines."""
    lines = split_lines(text)
    rows: list[int] = []
    for start, end in places:
        first = line_of(text, start)
        last = first + text.count("\n", start, max(start, end - 1))
        rows += range(max(1, first - AROUND_LINES), min(len(lines), last + AROUND_LINES) + 1)
        if len(rows) > LIMIT_LINES * 2:
            break
    wanted = sorted(set(rows))
    shown: list[str] = []
    for before, row in zip([0, *wanted], wanted[:LIMIT_LINES], strict=False):
        if shown and row != before + 1:
            shown.append("...")
        shown.append(f"{row:>6}\t{_cut(displayable(body_of(lines[row - 1])))}")
    return "\n".join([*shown, "..."] if len(wanted) > LIMIT_LINES or len(rows) > LIMIT_LINES * 2 else shown)


def _cut(line: str) -> str:
    return line if len(line) <= _LINE_LIMIT_CHARS else f"{line[:_LINE_LIMIT_CHARS]}..."

"""The lines of the screen of changes: files, hunks, lines, and what was written about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from agent_tui.ui.changes import ChangeView
from agent_tui.ui.look import spans
from agent_tui.ui.render.diff_parse import DiffLine, parse_diff
from agent_tui.ui.render.safe import clean_line

Kind = Literal["file", "hunk", "line", "comment"]
_SIGNS = {"add": "+", "del": "-", "context": " "}
_STYLES = {"add": "$success", "del": "$error", "context": "", "note": "$muted"}
_TAB = 4


@dataclass(frozen=True)
class ChangeRow:
    """One row. `key` names it in every comparison that holds it, `place` says where it is, `hunk` is -1 outside."""

    kind: Kind
    path: str
    hunk: int
    key: tuple[str, ...]
    place: str
    text: str
    content: Content


def rows_of(changes: Sequence[ChangeView], comments: Mapping[tuple[str, ...], str]) -> list[ChangeRow]:
    """Give the rows of all files in order, each with what was written about it below."""
    rows: list[ChangeRow] = []
    for change in changes:
        for row in _rows(change):
            rows.append(row)
            if row.key in comments:
                rows.append(_comment(row, comments[row.key]))
    return rows


def about(since: str, comments: Sequence[tuple[ChangeRow, str]]) -> str:
    """Write what the person said about lines for the model."""
    parts = [f"My comments on the changes since {since}:"]
    for row, text in comments:
        quoted = f" `{row.text.strip()}`" if row.text.strip() and "`" not in row.text else ""
        parts.append(f"- {row.place}{quoted}: {text}")
    return "\n".join(parts)


def _rows(change: ChangeView) -> Iterator[ChangeRow]:
    path = change.path
    head = spans(
        (clean_line(path), "bold $accent"),
        (f"  +{change.added} -{change.removed}", "$muted"),
        (f"  {change.conflict}" if change.conflict else "", "$warning"),
    )
    yield ChangeRow("file", path, -1, (path,), path, "", head)
    for line in parse_diff(change.diff).lines:
        if line.kind == "file":
            continue
        if line.kind == "hunk":
            content = Content.styled(line.text, "$muted")
            key = (path, "hunk", line.text)
            yield ChangeRow("hunk", path, line.hunk, key, f"{path}, {_lines_of(line.text)}", "", content)
        else:
            yield _row(path, line)


def _row(path: str, line: DiffLine) -> ChangeRow:
    sign, text = _SIGNS.get(line.kind, " "), line.text.expandtabs(_TAB)
    numbers = f"{line.old or '':>5} {line.new or '':>5} "
    content = spans((numbers, "$faint"), (f"{sign} {text}", _STYLES.get(line.kind, "")))
    number = f"removed line {line.old}" if line.kind == "del" else f"line {line.new}"
    place = f"{path}, {number}" if line.old or line.new else path
    key = (path, line.kind, str(line.old), str(line.new), line.text)
    return ChangeRow("line", path, line.hunk, key, place, line.text, content)


def _comment(row: ChangeRow, text: str) -> ChangeRow:
    content = spans(("            ┃ ", "$warning"), (clean_line(text), "italic $warning"))
    return ChangeRow("comment", row.path, row.hunk, row.key, row.place, row.text, content)


def _lines_of(head: str) -> str:
    """Name the lines of a hunk's head, as they are now."""
    now = next((part for part in head.split(" ") if part.startswith("+")), "+0").removeprefix("+")
    start, _, count = now.partition(",")
    last = int(start) + max(int(count or "1"), 1) - 1 if start.isdigit() and (count or "1").isdigit() else 0
    return f"lines {start} to {last}" if last > int(start or "0") else f"line {start}"

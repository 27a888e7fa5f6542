"""Panels that open and close: a tool call and a piece of reasoning."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from agent_tui.protocol.replay import LostText
from agent_tui.ui.render.content import content_body
from agent_tui.ui.render.rows import Body, Row, RowList, cells, expand_tabs, fit, wrap_runs
from agent_tui.ui.render.safe import clean, clean_line
from agent_tui.ui.transcript.blocks import LIVE_ROWS, Block, Look
from agent_tui.ui.transcript.pictures import picture_rows

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ICONS = {"waiting": "○", "done": "✓", "error": "✗", "cancelled": "⊘", "denied": "⊘", "interrupted": "⊘"}
SUFFIX = {"cancelled": " (cancelled)", "denied": " (denied)", "interrupted": " (interrupted)"}
BORDER = "│ "
AFTER = Row((), join="")
LIVE_CHARS = 4_000


class Panel:
    """A head, an optional body behind a border, and rows below it."""

    def __init__(self, head: Row, body: Body | None, border: Segment, foot: Sequence[Row]) -> None:
        self.head = head
        self._body = body
        self._border = border
        self._foot = foot
        self._size = body.height if body else 0

    @property
    def height(self) -> int:
        return 1 + self._size + len(self._foot)

    def row(self, index: int) -> Row:
        if index == 0:
            return self.head
        if self._body is None or index > self._size:
            return self._foot[index - 1 - self._size]
        row = self._body.row(index - 1)
        return row._replace(runs=[self._border, *row.runs], start=row.start + len(self._border.text))


def tool_panel(block: Block, text: str, look: Look) -> Body:
    """Lay out a tool call: its head, and its result `text` when it is open."""
    inks, data = look.inks, block.data
    border = border_of(look)
    head = tool_head(block, look)
    pictures = picture_rows(data.images, look, [border])
    if not block.open:
        live = live_rows(block, look, border) if data.state == "running" else ()
        return Panel(head, None, border, [*live, *pictures])
    shown = text or block.live
    after = [] if block.apart else [AFTER]
    if not shown:
        note = "running" if data.state == "running" else "waiting" if data.state == "waiting" else "no output"
        return Panel(head, None, border, [_note(border, f"({note})", look), *pictures, *after])
    content_type = "plain_text" if isinstance(text, LostText) else data.content_type
    body = content_body(
        shown,
        content_type if text else "terminal",
        max(1, look.width - len(BORDER)),
        inks,
        language=data.language,
        path=data.path,
        first_line=data.first_line,
        is_truncated=data.is_truncated,
    )
    foot = [open_all(border, data.full_length, look)] if data.is_truncated else []
    return Panel(head, body, border, [*pictures, *foot, *after])


def border_of(look: Look) -> Segment:
    """Give the line at the left of a body; a row's own background does not reach under it."""
    return Segment(BORDER, look.inks(look.inks.palette.border, look.inks.palette.background))


def tool_head(block: Block, look: Look) -> Row:
    """Give the line `icon name: title · summary   elapsed ▸` of a tool call."""
    inks, data = look.inks, block.data
    palette = inks.palette
    colour = {"done": palette.success, "error": palette.error, "denied": palette.warning}
    icon = SPINNER[look.frame % len(SPINNER)] if data.state == "running" else ICONS[data.state]
    left = [
        Segment(f"{icon} ", inks(colour.get(data.state, palette.muted), attributes="b")),
        Segment(clean_line(data.display_name or data.tool), inks(palette.text, attributes="b")),
    ]
    title, at = clean_line(data.title), -1
    if title:
        at = len(left) + 1
        left += [Segment(": ", inks.muted), Segment(title, inks.text)]
    suffix = SUFFIX.get(data.state, "")
    if suffix:
        left.append(Segment(suffix, inks(palette.warning)))
    if data.origin:
        left.append(Segment("  ↳ sub-agent", inks.faint))
    summary = clean_line(data.summary)
    if summary and not block.open:
        left.append(Segment(f"  {summary}", inks.faint))
    elapsed = _elapsed(block, look)
    right = f" {elapsed + ' ' if elapsed else ''}{'▾' if block.open else '▸'}"
    return head_row(left, Segment(right, inks.faint), look.width, yields=at)


def head_row(left: Sequence[Segment], right: Segment, width: int, *, yields: int = -1) -> Row:
    """Put `left` (cut to fit) and `right` at the two ends of one row; `left` without its first run is copied.

    The run at index `yields` gives way, to a quarter of the row at most, to as many of those behind it as are whole then.
    """
    room = max(0, width - cells([right]))
    rooms = [
        room - cells([*left[:yields], *left[yields + 1 : stop]]) for stop in range(len(left), yields, -1)
    ]
    own = next((one for one in rooms if one >= room // 4), room)
    kept: list[Segment] = []
    for index, (text, style, _) in enumerate(left):
        piece = fit(text, min(room, own) if index == yields else room)
        if piece:
            kept.append(Segment(piece, style))
        room -= cells([Segment(piece)])
        if piece != text and index != yields:
            break
    source = "".join([segment.text for segment in left[1:]])
    return Row([*kept, Segment(" " * max(0, room)), right], len(left[0].text), source=source)


def _elapsed(block: Block, look: Look) -> str:
    data = block.data
    seconds = look.now_s - block.started_s if data.state == "running" else data.elapsed_s
    if data.state == "waiting" or seconds < 0.05:
        return ""
    if seconds < 60:
        return f"{seconds:.1f}s" if data.state != "running" else f"{int(seconds)}s"
    return f"{int(seconds // 60)}m {int(seconds % 60):02d}s"


def live_rows(block: Block, look: Look, border: Segment) -> list[Row]:
    """Give the last rows of what a closed running tool has printed."""
    if not block.live:
        return []
    body = content_body(
        last_lines(block.live, LIVE_CHARS), "terminal", max(1, look.width - len(BORDER)), look.inks
    )
    first = max(0, body.height - LIVE_ROWS)
    rows = [body.row(index) for index in range(first, body.height)]
    return [row._replace(runs=[border, *row.runs], start=row.start + len(BORDER)) for row in rows]


def last_lines(text: str, limit_chars: int) -> str:
    """Give the end of `text`, from the start of a line."""
    if len(text) <= limit_chars:
        return text
    tail = text[-limit_chars:]
    return tail.split("\n", 1)[1] if "\n" in tail else tail


def open_all(border: Segment, full_length: int, look: Look) -> Row:
    """Give the row that opens the whole of a cut result."""
    label = f"… open all ({full_length:,} characters)"
    style = look.inks(look.inks.palette.link, attributes="u")
    return Row([border, Segment(fit(label, look.width - 2), style)], len(border.text) + len(label), join="")


def _note(border: Segment, text: str, look: Look) -> Row:
    return Row([border, Segment(text, look.inks.faint)], len(border.text) + len(text), join="")


def thinking_panel(block: Block, text: str, look: Look) -> Body:
    """Lay out reasoning: one dim line, or all of it."""
    inks, text = look.inks, clean(text)
    first = "" if block.open else " ".join(text[:600].split())
    head = thinking_head(look, "Thought", first, is_open=block.open)
    if not block.open:
        return Panel(head, None, border_of(look), ())
    style = inks(inks.palette.thinking, attributes="i")
    rows: list[Row] = []
    for line in text.strip("\n").split("\n"):
        rows += wrap_runs([Segment(expand_tabs(line), style)], max(1, look.width - len(BORDER)))
    return Panel(head, RowList(rows), border_of(look), ())


def thinking_head(look: Look, word: str, text: str, *, is_open: bool) -> Row:
    """Give the line above reasoning: `word` and the beginning of `text`."""
    inks = look.inks
    left = [Segment("∴ ", inks.faint), Segment(word, inks(inks.palette.thinking, attributes="i"))]
    if text:
        left.append(Segment(f"  {text}", inks.faint))
    return head_row(left, Segment(f" {'▾' if is_open else '▸'}", inks.faint), look.width)._replace(
        source=word
    )

"""A block to the rows that show it."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from agent_tui.protocol.replay import LostText
from agent_tui.ui.render.code import split_lines
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Body, Row, RowList, expand_tabs, wrap_runs
from agent_tui.ui.render.safe import clean
from agent_tui.ui.transcript.blocks import COLLAPSIBLE, Block, Look
from agent_tui.ui.transcript.panel import thinking_panel, tool_panel
from agent_tui.ui.transcript.pictures import picture_rows


def compose(block: Block, look: Look) -> Body:
    """Lay out one block that is not being streamed."""
    from agent_tui.ui.render.markdown import render  # markdown-it costs 15 ms, not before the first reply

    data, text = block.data, block.text if block.open or block.data.kind != "tool" else ""
    if isinstance(text, LostText) and data.kind not in COLLAPSIBLE:
        return RowList(plain_rows(clean(text), look.inks(look.inks.palette.warning), look.width))
    match data.kind:
        case "user":
            fill = look.inks("", look.inks.palette.user_bg)
            rows = plain_rows(clean(text), look.inks.text, look.width - 1, fill)
            return RowList([*rows, *(row._replace(fill=fill) for row in picture_rows(data.images, look))])
        case "assistant":
            return RowList(render(clean(text), look.width, look.inks))
        case "thinking":
            return thinking_panel(block, text, look)
        case "tool":
            return tool_panel(block, text, look)
        case "notice":
            return RowList(plain_rows(clean(text), notice_style(text, look.inks), look.width))
        case "decision":
            return RowList(plain_rows(clean(text), look.inks.faint, look.width))


def notice_style(text: str, inks: Inks) -> Style:
    """Give the style of a notice by the mark it begins with: `✗` an error, `!` a warning."""
    if text.startswith("✗"):
        return inks(inks.palette.error)
    return inks(inks.palette.warning) if text.startswith("!") else inks.muted


def plain_rows(text: str, style: Style, width: int, fill: Style | None = None) -> list[Row]:
    """Wrap safe text into rows of one style."""
    rows: list[Row] = []
    for line in split_lines(text):
        rows.extend(wrap_runs([Segment(expand_tabs(line), style)], width))
    return [row._replace(fill=fill) for row in rows] if fill else rows

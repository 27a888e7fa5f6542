"""Writes a session for people: Markdown, or one HTML page that needs nothing from elsewhere."""

import html
import re
import time
from collections.abc import Sequence

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.sessions.info import SessionInfo

_BACKTICKS = re.compile("`+")
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; margin: .5rem 0; }
.user { border-left: 3px solid #3b82f6; padding-left: .8rem; margin: 1.5rem 0 .8rem; font-weight: 600; }
.assistant { margin: .8rem 0; }
.thinking, .notice, .decision { opacity: .7; margin: .4rem 0; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .2rem .6rem; }
summary { cursor: pointer; } .error > summary { color: #dc2626; } .add { color: #16a34a; } .del { color: #dc2626; }
"""
_ICONS = {
    "done": "✓",
    "error": "✗",
    "denied": "⊘",
    "cancelled": "⊘",
    "interrupted": "⊘",
    "waiting": "…",
    "running": "…",
}


def to_markdown(info: SessionInfo, blocks: Sequence[ReplayBlock]) -> str:
    """Give the session as Markdown: prompts as headings, tool panels as fenced blocks."""
    parts = [f"# {info.title}", f"{_when(info.created_at)} · {info.workspace} · {info.session_id}"]
    parts += [_markdown_block(block) for block in blocks]
    return "\n\n".join(parts) + "\n"


def to_html(info: SessionInfo, blocks: Sequence[ReplayBlock]) -> str:
    """Give the session as one page: tool panels fold, errors stand open, no script, nothing is fetched."""
    title = html.escape(info.title)
    body = "\n".join(_html_block(block) for block in blocks)
    head = f"{_when(info.created_at)} · {html.escape(info.workspace)} · {html.escape(info.session_id)}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1><p>{head}</p>\n{body}\n</body></html>\n"
    )


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "(no date)"


def _fenced(text: str, language: str = "") -> str:
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _markdown_block(block: ReplayBlock) -> str:
    match block.kind:
        case "user":
            first, _, rest = block.text.strip().partition("\n")
            return f"## {first}" + (f"\n\n{_fenced(rest)}" if rest.strip() else "")
        case "assistant":
            return block.text.strip()
        case "thinking":
            return "\n".join(f"> {line}" for line in block.text.strip().split("\n"))
        case "tool":
            head = f"**{_ICONS[block.state]} {block.display_name}** {_inline(block.title)}".rstrip()
            return f"{head}\n\n{_fenced(block.text, _language(block))}" if block.text.strip() else head
        case "notice" | "decision":
            return f"*{block.text.strip()}*"


def _inline(text: str) -> str:
    return f"`{text}`" if text and "`" not in text else text


def _language(block: ReplayBlock) -> str:
    if block.content_type in ("diff", "json", "yaml", "xml"):
        return block.content_type
    return block.language


def _html_block(block: ReplayBlock) -> str:
    text = html.escape(block.text.strip("\n"))
    match block.kind:
        case "user":
            return f'<div class="user"><pre>{text}</pre></div>'
        case "assistant":
            return f'<div class="assistant"><pre>{text}</pre></div>'
        case "thinking":
            return f'<details class="thinking"><summary>Thinking</summary><pre>{text}</pre></details>'
        case "tool":
            head = (
                f"{_ICONS[block.state]} <b>{html.escape(block.display_name)}</b> {html.escape(block.title)}"
            )
            body = _html_diff(block.text) if block.content_type == "diff" else text
            state = ' class="error" open' if block.state == "error" else ""
            return f"<details{state}><summary>{head}</summary><pre>{body}</pre></details>"
        case "notice" | "decision":
            return f'<div class="{block.kind}"><pre>{text}</pre></div>'


def _html_diff(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        kind = "add" if line.startswith("+") else "del" if line.startswith("-") else ""
        safe = html.escape(line)
        lines.append(f'<span class="{kind}">{safe}</span>' if kind else safe)
    return "\n".join(lines)

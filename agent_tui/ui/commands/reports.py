"""Texts of /status, /context, /usage and /tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # 14 ms of CPU before the first paint, with the other types of what the core gives
    from agent_tui.ui.backend import ModeName, StatusView, ToolView
    from agent_tui.ui.house import Listing
    from agent_tui.ui.talk import ShareView

_BAR_CELLS = 30

MODE_WORDS: dict[ModeName, str] = {
    "default": "ask",
    "accept-edits": "accept edits",
    "plan": "plan",
    "auto": "auto",
    "dont-ask": "don't ask",
    "bypass": "bypass",
}
"""What the modes are called where a person reads which one is in force."""


def tokens(count: int) -> str:
    """Write a token count short: 950, 1.2k, 34k, 1.5M."""
    if count < 1000:
        return str(count)
    if count < 10_000:
        return f"{count / 1000:.1f}k"
    if count < 1_000_000:
        return f"{count // 1000}k"
    return f"{count / 1_000_000:.1f}M"


def money(cost_usd: float | None) -> str:
    """Write a cost, "" when it is not known."""
    if cost_usd is None:
        return ""
    return f"${cost_usd:.4f}" if 0 < cost_usd < 0.01 else f"${cost_usd:.2f}"


def columns(rows: Sequence[tuple[str, str]]) -> str:
    """Set pairs in two aligned columns; pairs without a second part are left out."""
    kept = [(left, right) for left, right in rows if right]
    width = max((len(left) for left, _ in kept), default=0)
    return "\n".join(f"{left:<{width}}  {right}" for left, right in kept)


def status_report(status: StatusView) -> str:
    """Describe the session and what it runs on."""
    model = f"{status.provider}:{status.model}" if status.provider else status.model
    sandbox = f"{status.sandbox} ({status.sandbox_reason})" if status.sandbox_reason else status.sandbox
    name = f"{status.session_name} ({status.session_id})" if status.session_name else status.session_id
    return columns(
        [
            ("Model", model),
            ("Mode", MODE_WORDS[status.mode]),
            ("Session", name),
            ("Project", status.workspace),
            ("Branch", status.branch),
            ("Sandbox", sandbox),
            ("Context", _of_window(tokens(status.context_tokens), status.context_tokens, status)),
            ("Cost", money(status.cost_usd)),
        ]
    )


def _of_window(written: str, used_tokens: int, status: StatusView) -> str:
    limit = status.context_limit_tokens
    if not limit:
        return f"{written} tokens"
    return f"{written} of {tokens(limit)} tokens ({100 * used_tokens / limit:.0f} %)"


def context_report(status: StatusView, shares: Sequence[ShareView] = (), counted: str = "") -> str:
    """Draw how full the window is and what fills it; the shares are estimates, `counted` is the server's word.

    What no server has counted yet is estimated as the sum of the shares.
    """
    used = status.context_tokens or sum(share.tokens for share in shares)
    written = tokens(used) if status.context_tokens or not used else f"~{tokens(used)}"
    parts = [(share.category.capitalize(), f"~{tokens(share.tokens)}") for share in shares if share.tokens]
    parts.append(("Counted", counted))
    limit = status.context_limit_tokens
    if not limit:
        head = f"{written} tokens in the context; the size of the model's window is not known."
        return f"{head}\n{columns(parts)}" if parts else head
    filled = min(_BAR_CELLS, round(_BAR_CELLS * used / limit))
    bar = "█" * filled + "░" * (_BAR_CELLS - filled)
    free = max(0, limit - used)
    ends = [("Free", f"{tokens(free)} tokens")]
    return columns([("Context", bar), ("Used", _of_window(written, used, status)), *parts, *ends])


def usage_report(status: StatusView) -> str:
    """List the tokens of the session; the cache's share is of all input."""
    cached = status.cache_read_tokens
    total_in = status.input_tokens + cached + status.cache_write_tokens
    share = f" ({100 * cached / total_in:.0f} % of the input)" if total_in and cached else ""
    return columns(
        [
            ("Input", f"{status.input_tokens:,} tokens"),
            ("From cache", f"{cached:,} tokens{share}"),
            ("Into cache", f"{status.cache_write_tokens:,} tokens" if status.cache_write_tokens else ""),
            ("Output", f"{status.output_tokens:,} tokens"),
            ("Cost", money(status.cost_usd) or "not known for this model"),
        ]
    )


def tools_report(tools: Sequence[ToolView]) -> str:
    """List the tools by where they come from."""
    if not tools:
        return "No tools are loaded."
    lines: list[str] = []
    for source in dict.fromkeys(tool.source for tool in tools):
        mine = [tool for tool in tools if tool.source == source]
        lines.append(f"{source} ({len(mine)})")
        lines.append(columns([(f"  {tool.name}", _first_sentence(tool.description)) for tool in mine]))
    return "\n".join(lines)


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    head = line.split(". ")[0].rstrip(".")
    return head if len(head) <= 90 else f"{head[:89]}…"


def listing_report(listing: Listing, empty: str) -> str:
    """Write a list of things with what is wrong below; `empty` stands for none."""
    lines = [columns([(name, _one_line(text)) for name, text in listing.rows])] if listing.rows else [empty]
    return "\n".join([*lines, *(f"! {problem}" for problem in listing.problems)])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"

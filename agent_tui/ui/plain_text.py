"""The conversation as plain text, for a pager, the terminal's scrollback and whoever reads without colours."""

from __future__ import annotations

from collections.abc import Iterable

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.render.safe import clean


def conversation_text(blocks: Iterable[ReplayBlock]) -> str:
    """Write blocks with a label each, results and reasoning whole, indented below their heads."""
    return "\n\n".join(text for block in blocks if (text := _block(block)).strip()) + "\n"


def _block(block: ReplayBlock) -> str:
    text = clean(block.whole_text()).rstrip("\n")
    match block.kind:
        case "user":
            return "\n".join(f"> {line}" for line in text.split("\n"))
        case "assistant":
            return text
        case "thinking":
            return f"Thought:\n{_indented(text)}"
        case "tool":
            name = block.display_name or block.tool
            head = clean(f"{name}: {block.title}" if block.title else name)
            state = "" if block.state == "done" else f" ({block.state})"
            cut = f"\n    ... cut; {block.full_length:,} characters in all" if block.is_truncated else ""
            return f"* {head}{state}\n{_indented(text)}{cut}".rstrip()
        case "notice" | "decision":
            return f"- {text}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))

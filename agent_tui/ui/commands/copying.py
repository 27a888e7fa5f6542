"""The slash command that copies a reply, or one of its code blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.protocol.numbers import whole_number
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.screens.picker import Choice

_FENCE = re.compile(r"^ {0,3}(?:[-*+] +|\d+[.)] +)?(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)$")


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block of a reply, without its fences."""

    language: str
    code: str


def code_blocks(text: str) -> list[CodeBlock]:
    """Find the fenced blocks of a markdown text; one that is not closed goes to the end."""
    found: list[CodeBlock] = []
    lines: list[str] | None = None
    marks = info = ""
    for line in text.split("\n"):
        if lines is None:
            if (begun := _FENCE.match(line)) is not None:
                lines, marks, info = [], begun["marks"], begun["info"].strip()
        elif line.strip().startswith(marks) and not line.strip().strip(marks[0]):
            found.append(_block(info, lines))
            lines = None
        else:
            lines.append(line)
    if lines:
        found.append(_block(info, lines))
    return found


def _block(info: str, lines: Sequence[str]) -> CodeBlock:
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    cut = min(indents, default=0)
    return CodeBlock(info.split(" ")[0], "\n".join(line[cut:] for line in lines))


async def _copy(host: CommandHost, args: str) -> None:
    number = whole_number(args or "1")
    if not number:
        host.notice("warning", "Write /copy, or /copy 2 for the reply before the last.")
        return
    replies = host.replies()
    if number > len(replies):
        host.notice("warning", f"There are {len(replies)} replies in this session.")
        return
    reply = replies[-number]
    blocks = code_blocks(reply)
    if not blocks:
        host.copy(reply)
        return
    whole = Choice("all", "The whole reply", _size(reply))
    parts = [
        Choice(str(at), f"{block.language or 'text'}: {_first_line(block.code)}", _size(block.code))
        for at, block in enumerate(blocks)
    ]
    chosen = await host.pick("Copy", [whole, *parts])
    if chosen is not None:
        host.copy(reply if chosen == "all" else blocks[int(chosen)].code)


def _first_line(code: str) -> str:
    line = next((line.strip() for line in code.split("\n") if line.strip()), "")
    return line if len(line) <= 40 else f"{line[:39]}…"


def _size(text: str) -> str:
    count = text.count("\n") + 1
    return "1 line" if count == 1 else f"{count} lines"


def copy_commands() -> list[Command]:
    """Give the command."""
    return [
        Command(
            "copy",
            "copy a reply, or one of its code blocks, as it was written",
            _copy,
            aliases=("yank",),
            usage="[N]",
            while_busy=True,
        )
    ]

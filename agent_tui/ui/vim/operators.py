"""What each vim operator does with a part of a text."""

from __future__ import annotations

from agent_tui.ui.vim.state import Page
from agent_tui.ui.vim.words import line_start

OPERATORS = {
    "delete": "d",
    "change": "c",
    "yank": "y",
    "indent": ">",
    "dedent": "<",
    "lower": "gu",
    "upper": "gU",
    "swap_case": "g~",
}
"""The operators by name, with how a command that waits for its motion is shown."""
_INDENT = "    "


def operate(operator: str, page: Page, start: int, end: int, *, by_lines: bool) -> int:
    """Do an operator on a part and give where the cursor belongs. `by_lines`: the part is whole lines."""
    text = page.text
    part = text[start:end]
    match operator:
        case "delete":
            if by_lines and not part.endswith("\n") and start > 0:
                start -= 1  # the last line goes with the break before it
                page.replace(start, end, "")
                return line_start(page.text, start)
            page.replace(start, end, "")
            return start
        case "change":
            kept = part[: len(part) - len(part.lstrip(" \t"))] if by_lines else ""
            page.replace(start, end, kept + ("\n" if by_lines and part.endswith("\n") else ""))
            return start + len(kept)
        case "indent" | "dedent":
            first = line_start(text, start)
            last = end - 1 if end > start and text[end - 1] == "\n" else end
            lines = text[first:last].split("\n")
            new = "\n".join(_indented(line) if operator == "indent" else _dedented(line) for line in lines)
            page.replace(first, last, new)
            return first + len(new.split("\n")[0]) - len(new.split("\n")[0].lstrip())
        case _:
            how = {"lower": str.lower, "upper": str.upper}.get(operator, str.swapcase)
            page.replace(start, end, how(part))
            return start


def _indented(line: str) -> str:
    return f"{_INDENT}{line}" if line.strip() else line


def _dedented(line: str) -> str:
    blanks = len(line) - len(line.lstrip(" \t"))
    return line[1:] if line.startswith("\t") else line[min(blanks, len(_INDENT)) :]

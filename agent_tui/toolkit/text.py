"""Cutting text for the model and for the screen, always on a character boundary."""

from agent_tui.protocol.display import (
    DISPLAY_LIMIT_CHARS,
    TITLE_LIMIT_CHARS,
    DisplayResult,
    ResultContentType,
)

OUTPUT_LIMIT_CHARS = 32_768

CAPPED_BY_TOOL = "output_capped"
"""The key of `ToolResult.data` that says the tool has a cap of its own: the round does not cut it again."""
ENDED_AFTER = "ended_after_s"
"""Key of `ToolResult.data`: the call ran so many seconds, then it was ended from outside (a stop, the time limit)."""


def display_text(
    text: str,
    content_type: ResultContentType = ResultContentType.PLAIN_TEXT,
    *,
    language: str = "",
    path: str = "",
    first_line: int = 0,
    summary: str = "",
    above: str = "",
) -> DisplayResult:
    """Show `text`, cut to 10,000 characters with a note of the total.

    `above` is context that stands over the text; `full_length` and `full_lines` count `text` alone.
    """
    is_truncated = len(text) > DISPLAY_LIMIT_CHARS
    shown = text
    if is_truncated:
        shown = f"{text[:DISPLAY_LIMIT_CHARS]}\n... ({len(text):,} characters in all)"
    return DisplayResult(
        content=f"{above}{shown}",
        content_type=content_type,
        is_truncated=is_truncated,
        full_length=len(text),
        full_lines=count_lines(text),
        language=language,
        path=path,
        first_line=first_line,
        summary=summary,
    )


def count_lines(text: str) -> int:
    """Count lines split at newline only; a final newline adds none."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def cut_title(title: str) -> str:
    """Make a title one line of at most 50 characters + "..."."""
    line = " ".join(title.split())
    return line if len(line) <= TITLE_LIMIT_CHARS else f"{line[:TITLE_LIMIT_CHARS]}..."


def cap_output(text: str, *, limit_chars: int = OUTPUT_LIMIT_CHARS) -> str:
    """Keep the head of `text` and say how much was left out; the notice is not counted. 0 means no limit."""
    if limit_chars == 0 or len(text) <= limit_chars:
        return text
    return f"{text[:limit_chars]}\n\n[{len(text) - limit_chars:,} characters left out]"


def count(number: int, noun: str, plural: str = "") -> str:
    """Give `number` with its noun, "1 file" or "3,000 files"; `plural` is for nouns that take no s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"

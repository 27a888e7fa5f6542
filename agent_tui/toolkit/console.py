"""A command's output as a terminal panel shows it."""

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.display import DISPLAY_LIMIT_CHARS, DisplayResult, ResultContentType
from agent_tui.toolkit.text import count, count_lines

# The start says what was done, the end how it went; the note between them has room for both totals.
HEAD_CHARS = 5_000
TAIL_CHARS = 4_500


def console_display(
    command: str, output: str, data: JsonObject, *, footer: str, outcome: str = ""
) -> DisplayResult:
    """Show `$ command`, what it printed and a last line `footer`, with colours left to the renderer.

    The summary says `outcome`, `footer` when there is none: the row of a closed panel has the time by itself.

    `data` are the facts of `OutputLog.facts`; without them (a result that never ran) `output` is shown.
    """
    raw = data.get("raw")
    text = raw if isinstance(raw, str) else output
    chars, lines = data.get("full_chars"), data.get("full_lines")
    full_length = chars if isinstance(chars, int) else len(text)
    full_lines = lines if isinstance(lines, int) else count_lines(text)
    shown, is_cut = _ends(text, full_length)
    newline = "" if not shown or shown.endswith("\n") else "\n"
    prompt = f"$ {command}\n"[:DISPLAY_LIMIT_CHARS]
    return DisplayResult(
        content=_fitted(prompt, f"{shown}{newline}", f"[{footer}]"),
        content_type=ResultContentType.TERMINAL,
        is_truncated=is_cut or full_length > len(text),
        full_length=full_length,
        full_lines=full_lines,
        summary=f"{outcome or footer}, {count(full_lines, 'line')}",
    )


def _ends(text: str, full_length: int) -> tuple[str, bool]:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text, False
    note = f"\n... ({full_length:,} characters in all) ...\n"
    return f"{text[:HEAD_CHARS]}{note}{text[-TAIL_CHARS:]}", True


def _fitted(prompt: str, body: str, footer: str) -> str:
    """Join the parts; a long command gives way, since it stands in the call."""
    room = DISPLAY_LIMIT_CHARS - len(body) - len(footer)
    if len(prompt) > room:
        prompt = f"{prompt[: max(room - 5, 0)]} ...\n"
    return f"{prompt}{body}{footer}"

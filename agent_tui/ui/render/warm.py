"""Loads what the first reply will need, so that its first frame does not wait for imports."""

from __future__ import annotations


def warm() -> None:
    """Import the markdown parser and the lexers' machinery: 60 ms of CPU, for a thread after the first paint."""
    from agent_tui.ui.render import diff, lexing, markdown, markdown_stream

    markdown.parser()
    lexing.find_lexer("python", "")
    del diff, markdown_stream

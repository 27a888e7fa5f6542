"""Describes a command that is not analysed: it asks as a whole and "always" means exactly it."""

from agent_tui.permissions.patterns import quoted_star
from agent_tui.permissions.rules import Spelling
from agent_tui.permissions.shell.model import Part


def exact_part(command: str, why: str) -> Part:
    """Give the whole command as one part that no wildcard covers."""
    text = command.strip()
    spelling = (Spelling(text),)
    return Part(
        argv=(text,),
        source=text,
        safe=False,
        why=why,
        exact_only=True,
        pattern=f"Bash({quoted_star(text)})" if text else "",
        spellings=spelling,
        allow_as=spelling,
    )

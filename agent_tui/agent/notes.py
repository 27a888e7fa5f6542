"""Text that we put into the conversation ourselves, marked so that nobody takes it for the person's words."""

OPEN = "<system-note>"
CLOSE = "</system-note>"
ENVIRONMENT_OPEN = "<environment>"


def note(text: str) -> str:
    """Mark `text` as ours."""
    return f"{OPEN}{text}{CLOSE}"


def is_note(text: str) -> bool:
    """Tell whether a text block was written by us."""
    return text.startswith((OPEN, ENVIRONMENT_OPEN))

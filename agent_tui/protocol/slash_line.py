"""Tells a text that calls a command, such as `/fix 12`, from one for the model."""


def slash_line(text: str) -> tuple[str, str] | None:
    """Give the word behind the slash and the arguments; None for a text for the model.

    That is one without a slash at its start, one with two, and one that begins with a path: no command has a slash
    in its name.
    """
    stripped = text.strip()
    if not stripped.startswith("/"):
        return None
    head = stripped.split(maxsplit=1)
    word = head[0][1:]
    return None if "/" in word else (word, head[1] if len(head) > 1 else "")


def as_typed(text: str) -> str:
    """Give a text for the model as a person types it: a first slash is doubled where it would be a command."""
    return f"/{text}" if text.startswith("//") or (text.startswith("/") and slash_line(text)) else text


def without_escape(text: str) -> str:
    """Give a text for the model without the first of two slashes, which said that it is one."""
    return text[1:] if text.startswith("//") else text

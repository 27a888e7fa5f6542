"""Makes panels of texts that no tool gave: what a person reads before an answer, or asked to see."""

from agent_tui.protocol.replay import ReplayBlock, ToolState


def panel(name: str, title: str, text: str, *, content_type: str, state: ToolState = "done") -> ReplayBlock:
    """Give the panel called `name: title` that shows all of `text`."""
    return ReplayBlock(
        kind="tool",
        text=text,
        display_name=name,
        title=title,
        content_type=content_type,
        full_length=len(text),
        full_lines=text.count("\n") + 1,
        state=state,
    )

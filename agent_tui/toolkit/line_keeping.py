"""A whole new text for a file whose line ends stay what they were."""

from agent_tui.toolkit.diffing import Block, changes
from agent_tui.toolkit.lines import (
    body_of,
    dominant_end,
    end_of,
    has_single_end,
    neighbour_end,
    split_any,
    with_ends,
)


def keep_ends(old: str, new: str) -> str:
    """Give `new` with the line ends of `old`: lines that stay keep theirs, new ones take their neighbours'.

    A text that itself holds a CR says what it wants and stands as it is.
    """
    if "\r" in new or "\r" not in old:
        return new
    if has_single_end(old):
        return with_ends(new, dominant_end(old))
    return _keep_mixed(old, new)


def _keep_mixed(old: str, new: str) -> str:
    old_lines, new_lines = split_any(old), split_any(new)
    bodies = [body_of(line) for line in new_lines]
    kept: list[str] = []
    at = 0
    end = Block(len(old_lines), len(old_lines), len(new_lines), len(new_lines))
    for block in (*changes([body_of(line) for line in old_lines], bodies), end):
        kept += old_lines[at : block.old_start]
        near = neighbour_end(kept, old_lines[block.old_end :], default=dominant_end(old))
        kept += [body + near for body in bodies[block.new_start : block.new_end]]
        at = block.old_end
    return _finish(kept, new_lines, near=dominant_end(old))


def _finish(kept: list[str], new_lines: list[str], *, near: str) -> str:
    """Give every line an end, the last one only if the new text has one there."""
    joined: list[str] = []
    for line in kept:
        ended = line if end_of(line) else line + near
        # A CR before an empty line that ends in LF would become one line end.
        joined.append("\r" if ended == "\n" and joined and joined[-1].endswith("\r") else ended)
    if joined and not end_of(new_lines[-1]):
        joined[-1] = body_of(joined[-1])
    return "".join(joined)

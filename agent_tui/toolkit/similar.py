"""Names and lines that look like what was asked for."""

import difflib
import os
from collections.abc import Sequence

from agent_tui.protocol.near_names import near_names
from agent_tui.toolkit.encoding import displayable
from agent_tui.toolkit.git_diff import quoted
from agent_tui.toolkit.lines import body_of, split_lines
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.rooted import opened_parent

_SEARCHED_LINES = 20_000
_NEAR_RATIO = 0.6


def missing_file(target: Target, *, may_look: bool = False) -> str:
    """Say that `target` does not exist, with up to three siblings of a similar name.

    Outside the project only where the call `may_look` there: before it is approved, names would be given away.
    """
    near = _siblings(target) if target.inside or may_look else []
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return f"{target.shown} does not exist.{hint}"


def _siblings(target: Target) -> list[str]:
    """Give up to three siblings of a similar name."""
    try:
        with opened_parent(target) as folder:
            names = os.listdir(folder)
    except OSError:
        return []
    prefix = target.shown.rpartition("/")
    return [quoted(f"{prefix[0]}{prefix[1]}{name}") for name in near_names(target.real.name, sorted(names))]


def nearest_text(text: str, wanted: str) -> str:
    """Give the numbered lines of `text` that look most like the first line of `wanted`, "" when none do."""
    sought = [line.strip() for line in wanted.splitlines() if line.strip()]
    if not sought:
        return ""
    lines = split_lines(text)[:_SEARCHED_LINES]
    best, ratio = _best(lines, max(sought[:3], key=len))
    if ratio < _NEAR_RATIO:
        return ""
    return numbered(lines, max(0, best - 1), min(len(lines), best + max(2, len(sought))))


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    """Number the lines from `first` (0-based) to `last` (excluded) as read does, each cut at 200 characters."""
    rows = (f"{row + 1:>6}\t{body_of(lines[row])[:200]}" for row in range(first, last))
    return displayable("\n".join(rows))


def _best(lines: Sequence[str], wanted: str) -> tuple[int, float]:
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:200])
    best, best_ratio = 0, 0.0
    for row, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:200])
        floor = max(best_ratio, _NEAR_RATIO - 0.01)
        if matcher.real_quick_ratio() > floor and matcher.quick_ratio() > floor:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = row, ratio
    return best, best_ratio

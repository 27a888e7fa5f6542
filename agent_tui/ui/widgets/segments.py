"""The pieces of the status line by name: what each shows, and how much it matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from textual.content import Content

from agent_tui.ui.backend import ModeName, StatusView
from agent_tui.ui.commands.reports import MODE_WORDS, money, tokens
from agent_tui.ui.render.safe import clean_line

SPLIT = "|"
"""Stands between what is at the left edge and what is at the right one."""
USUAL = (
    "vim",
    "mode",
    "model",
    "context",
    "queue",
    SPLIT,
    "tokens",
    "cost",
    "sandbox",
    "branch",
    "notes",
    "session",
)
"""What is shown unless the person chose otherwise."""

_MODE_STYLE = {
    "default": "$muted",
    "accept-edits": "$accent",
    "plan": "$success",
    "auto": "$warning",
    "dont-ask": "$warning",
    "bypass": "bold $background on $error",
}


@dataclass(frozen=True)
class Facts:
    """What the line can show: the core's facts, the mode of vim's keys, and how many messages wait."""

    status: StatusView
    vim: str = ""
    queued: int = 0


@dataclass(frozen=True)
class Segment:
    """A piece of the line. Of two that do not both fit the one with the lower `rank` goes."""

    content: Content
    rank: int


@dataclass(frozen=True)
class Kind:
    """A kind of piece: what it is for, its rank, and how it is drawn; None when there is nothing to show."""

    words: str
    rank: int
    draw: Callable[[Facts], Content | None]


def context_tier(used: int, limit: int) -> int:
    """Say how full the window is: 0 fine, 1 to 3 worse. Large windows warn earlier, because quality falls before the end."""
    if limit <= 0:
        return 0
    if limit >= 900_000:
        bounds = (0.2, 0.8, 0.9)
    elif limit >= 400_000:
        bounds = (0.7, 0.8, 0.9)
    else:
        bounds = (0.8, 0.9, 0.95)
    return sum(used / limit >= bound for bound in bounds)


def sides(facts: Facts, chosen: Sequence[str] = ()) -> tuple[list[Segment], list[Segment]]:
    """Give the pieces at the left and at the right edge. The mode in which nothing asks is always shown."""
    names = list(chosen or USUAL)
    if facts.status.mode == "bypass" and "mode" not in names:
        names.insert(0, "mode")
    split = names.index(SPLIT) if SPLIT in names else len(names)
    return _segments(facts, names[:split]), _segments(facts, names[split + 1 :])


def unknown_segment(names: Sequence[str]) -> str:
    """Give the first name that is no piece of the line, "" when all are."""
    return next((name for name in names if name not in KINDS and name != SPLIT), "")


def _segments(facts: Facts, names: Sequence[str]) -> list[Segment]:
    kinds = [KINDS[name] for name in names if name in KINDS]
    drawn = [(kind.rank, kind.draw(facts)) for kind in kinds]
    return [Segment(content, rank) for rank, content in drawn if content is not None]


def _vim(facts: Facts) -> Content | None:
    style = "$muted" if facts.vim.startswith("INSERT") else "bold $accent"
    return Content.styled(facts.vim, style) if facts.vim else None


def _mode(facts: Facts) -> Content:
    mode: ModeName = facts.status.mode
    return Content.styled(
        " BYPASS: nothing asks " if mode == "bypass" else MODE_WORDS[mode], _MODE_STYLE[mode]
    )


def _model(facts: Facts) -> Content | None:
    return Content.styled(clean_line(facts.status.model), "$foreground") if facts.status.model else None


def _context(facts: Facts) -> Content | None:
    used, limit = facts.status.context_tokens, facts.status.context_limit_tokens
    if not limit:
        return None
    percent = f"{100 * used / limit:.0f} %"
    match context_tier(used, limit):
        case 0:
            return Content.styled(f"context {percent}", "$muted")
        case 1:
            return Content.styled(f"context {percent} !", "$warning")
        case 2:
            return Content.styled(f"context {percent} !!", "$error")
        case _:
            return Content.styled(f"context {percent} !!! /compact", "bold $error")


def _queue(facts: Facts) -> Content | None:
    return Content.styled(f"{facts.queued} queued", "$accent") if facts.queued else None


def _tokens(facts: Facts) -> Content | None:
    status = facts.status
    spent = status.input_tokens + status.output_tokens + status.cache_read_tokens
    if not spent:
        return None
    cached = f" {tokens(status.cache_read_tokens)} cached" if status.cache_read_tokens else ""
    return Content(
        f"{tokens(status.input_tokens)} in {tokens(status.output_tokens)} out{cached} Σ{tokens(spent)}"
    )


def _cache(facts: Facts) -> Content | None:
    status = facts.status
    total = status.input_tokens + status.cache_read_tokens + status.cache_write_tokens
    return Content(f"cache {100 * status.cache_read_tokens / total:.0f} %") if total else None


def _cost(facts: Facts) -> Content | None:
    cost = money(facts.status.cost_usd)
    return Content(cost) if cost else None


def _sandbox(facts: Facts) -> Content | None:
    sandbox = facts.status.sandbox
    weak = sandbox.lower() in ("none", "off", "weak")
    return Content.styled(f"sandbox {sandbox}", "$warning" if weak else "$muted") if sandbox else None


def _branch(facts: Facts) -> Content | None:
    return Content(f"git {clean_line(facts.status.branch)}") if facts.status.branch else None


def _notes(facts: Facts) -> Content | None:
    notes = [Content.styled(clean_line(note), "$accent") for note in facts.status.notes]
    return Content.styled(" · ", "$faint").join(notes) if notes else None


def _session(facts: Facts) -> Content | None:
    name = facts.status.session_name or facts.status.session_id[:8]
    return Content(clean_line(name)) if name else None


def _folder(facts: Facts) -> Content | None:
    name = PurePath(facts.status.workspace).name
    return Content(clean_line(name)) if name else None


KINDS: dict[str, Kind] = {
    "vim": Kind("the mode of vim's keys", 95, _vim),
    "mode": Kind("the permission mode", 100, _mode),
    "model": Kind("the model", 90, _model),
    "context": Kind("how full the model's window is", 80, _context),
    "queue": Kind("how many messages wait", 75, _queue),
    "tokens": Kind("tokens in, out, from the cache and in all", 40, _tokens),
    "cache": Kind("how much of the input came from the cache", 45, _cache),
    "cost": Kind("what the session has cost", 70, _cost),
    "sandbox": Kind("how commands are confined", 50, _sandbox),
    "branch": Kind("the git branch", 60, _branch),
    "notes": Kind("what extensions show", 65, _notes),
    "session": Kind("the session's name", 30, _session),
    "folder": Kind("the project's folder", 35, _folder),
}
"""Every piece there is, by the name that settings use."""

"""Where a text that a model remembers stands in a file: exactly, or in three ways that are nearly so."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent_tui.toolkit.indentation import Reindent, reindented
from agent_tui.toolkit.lines import body_of, dominant_end, end_of, split_lines, with_ends

_BLANKS = " \t"
_LOOKALIKES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys(
        "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
        " ",
    ),
}
PLAIN = str.maketrans(_LOOKALIKES)
"""Maps quotes, dashes and spaces to their ASCII form, one character to one."""


@dataclass(frozen=True)
class Match:
    """One place: `text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Found:
    """All places that one pass found. `label` is "" when they are exact, else what the pass ignored."""

    matches: tuple[Match, ...]
    label: str = ""


def find(text: str, old: str, new: str) -> Found:
    """Look for `old` pass by pass; the first pass that finds a place counts.

    1 exact; 2 ignoring line ends and trailing blanks; 3 whole lines, ignoring indentation, with `new` re-indented;
    4 quotes, dashes and spaces in their ASCII form. `new` is put in as it is; only its line ends become those of the
    place. `old` must not be empty; of blanks alone it is only looked for exactly.
    """
    exact = _exact(text, old, new)
    if exact:
        return Found(exact)
    if "\n" in old and "\r" not in old and "\r\n" in text:
        exact = _exact(text, old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n"))
        if exact:
            return Found(exact, "line ends")
    if not old.strip():
        return Found(())
    passes: tuple[tuple[str, Callable[[str, str, str], tuple[Match, ...]]], ...] = (
        ("line ends and trailing blanks", _loose_ends),
        ("indentation", _loose_indentation),
        ("the form of quotes, dashes and spaces", _loose_unicode),
    )
    for label, search in passes:
        if matches := search(text, old, new):
            return Found(matches, label)
    return Found(())


def line_of(text: str, position: int) -> int:
    """Give the 1-based line of a position; lines end at newline only."""
    return text.count("\n", 0, position) + 1


def end_near(text: str, start: int, end: int) -> str:
    """Give the line end used in `text[start:end]`, else at the end of its line, of the line before, or the most frequent."""
    inside = _first_end(text, start, end)
    if inside:
        return inside
    after = _first_end(text, end, len(text))
    if after:
        return after
    before = text.rfind("\n", 0, start)
    if before >= 0:
        return "\r\n" if text[before - 1 : before] == "\r" else "\n"
    return dominant_end(text)


def _first_end(text: str, start: int, end: int) -> str:
    """Give the first line end between the positions, a lone CR only where the text has no newline at all."""
    at = text.find("\n", start, end)
    if at >= 0:
        return "\r\n" if text[max(at - 1, 0) : at] == "\r" else "\n"
    return "\r" if text.find("\r", start, end) >= 0 and "\n" not in text else ""


def _exact(text: str, old: str, new: str) -> tuple[Match, ...]:
    matches: list[Match] = []
    crlf = "\r\n" in text
    at = text.find(old)
    while at >= 0:
        end = at + len(old)
        if crlf and (_splits_pair(text, at) or _splits_pair(text, end)):
            at = text.find(old, at + 1)
            continue
        matches.append(Match(at, end, _placed(text, at, end, old, new)))
        at = text.find(old, end)
    return tuple(matches)


def _splits_pair(text: str, position: int) -> bool:
    """Tell whether a cut at `position` would part a CR from its LF."""
    return text[position - 1 : position + 1] == "\r\n" if position else False


def _placed(text: str, start: int, end: int, old: str, new: str) -> str:
    """Give `new` with the line ends of the place; a text that speaks of CR itself stands as it is."""
    if "\n" not in new or "\r" in new or "\r" in old:
        return new
    near = end_near(text, start, end)
    return new if near == "\n" else new.replace("\n", near)


def _loose_ends(text: str, old: str, new: str) -> tuple[Match, ...]:
    return _by_pattern(text, text, old, new)


def _loose_unicode(text: str, old: str, new: str) -> tuple[Match, ...]:
    return _by_pattern(text, text.translate(PLAIN), old.translate(PLAIN), new)


def _by_pattern(text: str, searched: str, old: str, new: str) -> tuple[Match, ...]:
    """Find `old` in `searched`, which has the positions of `text`, with any line ends and trailing blanks."""
    matches: list[Match] = []
    for found in re.finditer(_pattern(old), searched):
        start, end = found.span()
        matches.append(Match(start, end, with_ends(new, end_near(text, start, end))))
    return tuple(matches)


def _pattern(old: str) -> str:
    """Write `old` as an expression: each line as it is, blanks and any line end between two lines."""
    lines = re.split(r"\r\n|\n|\r", old)
    bodies = [re.escape(line.rstrip(_BLANKS)) for line in lines[:-1]]
    last = lines[-1].rstrip(_BLANKS)
    tail = re.escape(last) + (r"[ \t]*(?=\r|\n|\Z)" if last != lines[-1] else "")
    return "".join(body + r"[ \t]*(?:\r\n|\n|\r)" for body in bodies) + tail


def _loose_indentation(text: str, old: str, new: str) -> tuple[Match, ...]:
    """Find whole lines that are those of `old` but for their indentation, moved by one rule for all of them."""
    wanted = re.split(r"\r\n|\n|\r", old)
    takes_last_end = wanted[-1] == ""
    wanted = wanted[:-1] if takes_last_end else wanted
    stripped = [line.strip(_BLANKS) for line in wanted]
    starts, lines = _line_table(text)
    bodies = [body_of(line).strip(_BLANKS) for line in lines]
    matches: list[Match] = []
    row = 0
    while (row := _next_run(bodies, stripped, row)) >= 0:
        rows = lines[row : row + len(wanted)]
        rule = Reindent.between(wanted, [body_of(line) for line in rows])
        if rule is None or (takes_last_end and not end_of(rows[-1])):
            row += 1
            continue
        last = row + len(wanted) - 1
        end = starts[last] + len(lines[last] if takes_last_end else body_of(lines[last]).rstrip(_BLANKS))
        placed = with_ends(reindented(new, rule), end_near(text, starts[row], end))
        matches.append(Match(starts[row], end, placed))
        row = last + 1
    return tuple(matches)


def _next_run(bodies: list[str], wanted: list[str], start: int) -> int:
    """Find the next row where `wanted` stands, -1 when there is none."""
    while True:
        try:
            start = bodies.index(wanted[0], start)
        except ValueError:
            return -1
        if bodies[start : start + len(wanted)] == wanted:
            return start
        start += 1


def _line_table(text: str) -> tuple[list[int], list[str]]:
    kept = split_lines(text)
    starts: list[int] = []
    at = 0
    for line in kept:
        starts.append(at)
        at += len(line)
    return starts, kept

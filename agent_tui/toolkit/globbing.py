"""Glob patterns: braces, classes, `**`; what they match and where the search can begin."""

import re
from dataclasses import dataclass
from itertools import pairwise

ALTERNATIVES_LIMIT = 1_000
_MAGIC = re.compile(r"[*?\[{\\]")
_RANGE = re.compile(r"\{[^{},/]+\.\.[^{},/]+\}")
_EXTENDED = re.compile(r"[@+!?*]\([^()/]*\|[^()/]*\)")


class PatternError(ValueError):
    """The pattern cannot be used; the text says why and what to write instead."""


@dataclass(frozen=True)
class GlobPattern:
    """A compiled pattern for paths relative to some folder. `alternatives` are its forms without braces."""

    text: str
    expression: re.Pattern[str]
    alternatives: tuple[str, ...]

    def matches(self, path: str) -> bool:
        """Tell whether the pattern matches the whole of `path`."""
        return self.expression.fullmatch(path) is not None


def compile_glob(text: str) -> GlobPattern:
    """Compile a pattern: `*` and `?` stay within a component, `**` as a component is any number of them.

    `{a,b}` may be nested; an unclosed brace or bracket stands for itself. Raises PatternError for forms that are
    known elsewhere and not here, so that they are not mistaken for "nothing found".
    """
    if found := _RANGE.search(text):
        raise PatternError(f"Ranges such as {found[0]} are not supported; list the alternatives: {{1,2,3}}.")
    if found := _EXTENDED.search(text):
        raise PatternError(f"Extended patterns such as {found[0]} are not supported; use {{a,b}}.")
    alternatives = tuple(dict.fromkeys(expand_braces(text)))
    source = "|".join(f"(?:{_translate(alternative)})" for alternative in alternatives)
    try:
        return GlobPattern(text, re.compile(source, re.DOTALL), alternatives)
    except re.error as error:
        raise PatternError(f"The pattern {text!r} cannot be used: {error}.") from error


def has_magic(component: str) -> bool:
    """Tell whether a component is more than a name."""
    return _MAGIC.search(component) is not None


def expand_braces(text: str) -> list[str]:
    """Give the forms of `text` without brace alternatives. Raises PatternError over 1,000."""
    opened = _first_braces(text)
    if opened is None:
        return [text]
    start, commas, end = opened
    bounds = [start, *commas, end]
    forms: list[str] = []
    rests = expand_braces(text[end + 1 :])
    for left, right in pairwise(bounds):
        for inner in expand_braces(text[left + 1 : right]):
            forms += [f"{text[:start]}{inner}{rest}" for rest in rests]
            if len(forms) > ALTERNATIVES_LIMIT:
                raise PatternError(f"The braces stand for more than {ALTERNATIVES_LIMIT:,} patterns.")
    return forms


def _first_braces(text: str) -> tuple[int, list[int], int] | None:
    """Find the first closed pair of braces with a comma: its start, its commas, its end."""
    opening: list[tuple[int, list[int]]] = []
    pairs: list[tuple[int, list[int], int]] = []
    position = 0
    while position < len(text):
        match text[position]:
            case "\\":
                position += 1
            case "{":
                opening.append((position, []))
            case "," if opening:
                opening[-1][1].append(position)
            case "}" if opening:
                start, commas = opening.pop()
                if commas:
                    pairs.append((start, commas, position))
            case _:
                pass
        position += 1
    return min(pairs, default=None)


def _translate(pattern: str) -> str:
    """Turn a pattern without braces into an expression for `fullmatch`."""
    parts = pattern.split("/")
    pieces: list[str] = []
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == "**":
            pieces.append(".+" if is_last else "(?:[^/]+/)*")
        else:
            pieces.append(_component(part) + ("" if is_last else "/"))
    return "".join(pieces)


def _component(part: str) -> str:
    """Translate one component. Stars between fixed parts match the nearest place, without going back."""
    runs = [_fixed(run) for run in _split_at_stars(part)]
    if len(runs) == 1:
        return runs[0]
    inner = "".join(f"(?>[^/]*?{run})" for run in runs[1:-1])
    return f"{runs[0]}{inner}[^/]*{runs[-1]}"


def _split_at_stars(part: str) -> list[str]:
    runs = [""]
    position = 0
    while position < len(part):
        char = part[position]
        if char == "*":
            runs.append("")
        elif char == "\\":
            runs[-1] += part[position : position + 2]
            position += 1
        elif char == "[" and (end := _class_end(part, position)):
            runs[-1] += part[position:end]
            position = end - 1
        else:
            runs[-1] += char
        position += 1
    return [run for index, run in enumerate(runs) if run or index in (0, len(runs) - 1)]


def _class_end(part: str, start: int) -> int:
    """Give the position behind the class that begins at `start`, 0 when it is not closed."""
    position = start + 1
    if part[position : position + 1] in ("!", "^"):
        position += 1
    end = part.find("]", position + 1)
    return end + 1


def _fixed(run: str) -> str:
    """Translate what holds no star."""
    pieces: list[str] = []
    position = 0
    while position < len(run):
        char = run[position]
        if char == "?":
            pieces.append("[^/]")
        elif char == "\\" and position + 1 < len(run):
            position += 1
            pieces.append(re.escape(run[position]))
        elif char == "[" and (end := _class_end(run, position)):
            pieces.append(_class(run[position + 1 : end - 1]))
            position = end - 1
        else:
            pieces.append(re.escape(char))
        position += 1
    return "".join(pieces)


def _class(inner: str) -> str:
    negated = inner[:1] in ("!", "^")
    members = inner[1:] if negated else inner
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", members)
    return f"(?!/)[{'^' if negated else ''}{escaped}]"

"""Says what may have been meant by a name that there is not."""

from collections.abc import Iterable

MOST = 3
_LISTED = 24
_LIKENESS = 0.6
_BEHIND = 0.1
_LEAST_BEGINNING = 2
_LEAST_PART = 3


def slips(name: str, known: Iterable[str], *, most: int = MOST, likeness: float = _LIKENESS) -> list[str]:
    """Give up to `most` known names that share most letters with `name` in their order, the likeliest first.

    Case does not count. `likeness` is the ratio of `difflib.SequenceMatcher` that is needed: 1 is the same word. Names
    that are clearly less like it than the best are left out.
    """
    from difflib import SequenceMatcher  # 4 ms, and only where a name is refused

    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(name.casefold())
    ranked: list[tuple[float, str]] = []
    for folded, one in _folded(known).items():
        matcher.set_seq1(folded)
        if matcher.real_quick_ratio() >= likeness and matcher.quick_ratio() >= likeness:
            ranked.append((matcher.ratio(), one))
    best = max((ratio for ratio, _ in ranked), default=0.0)
    near = [(ratio, one) for ratio, one in ranked if ratio >= max(likeness, best - _BEHIND)]
    return [one for _, one in sorted(near, key=lambda pair: -pair[0])[:most]]


def near_names(name: str, known: Iterable[str], *, most: int = MOST) -> list[str]:
    """Give up to `most` known names that may be meant by `name`, the likeliest first.

    First those of which it is a whole part (`theme` of `ui.theme`), then those it is a slip for, then those it begins
    or stands in.
    """
    folded, asked = _folded(known), name.casefold()
    parts = [one for key, one in folded.items() if asked in key.replace("_", ".").split(".")]
    begun = [one for key, one in folded.items() if key.startswith(asked) and len(asked) >= _LEAST_BEGINNING]
    inside = [one for key, one in folded.items() if asked in key and len(asked) >= _LEAST_PART]
    near = dict.fromkeys([*parts, *slips(asked, folded.values(), most=most), *begun, *inside])
    return list(near)[:most]


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str | None = None, end: str = "") -> str:
    """Give the end of a sentence that refuses `name`: "; did you mean 'grep'?", else "; there are a, b".

    `otherwise` stands in the place of the list, which is cut at 24 names. `end` follows what is no question.
    """
    names = list(dict.fromkeys(known))
    if near := near_names(name, names):
        return f"; did you mean {' or '.join(map(repr, near))}?"
    if otherwise is not None:
        return f"{otherwise}{end}"
    if not names:
        return f"; there are none{end}"
    more = len(names) - _LISTED
    return f"; there are {', '.join(names[:_LISTED])}{f' and {more} more' if more > 0 else ''}{end}"


def _folded(known: Iterable[str]) -> dict[str, str]:
    """Give the names by their folded form; the first of two that differ in case only counts."""
    found: dict[str, str] = {}
    for one in known:
        found.setdefault(one.casefold(), str(one))
    return found

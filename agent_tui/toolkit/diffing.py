"""What differs between two texts, in lines: fast on large files, the same answer each time."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT_LINES = 3
_SMALL_LINES = 2_000


@dataclass(frozen=True)
class Block:
    """Lines `old_start:old_end` became `new_start:new_end` (0-based, end excluded)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    def moved(self, old: int, new: int) -> "Block":
        """Give the block with its positions shifted."""
        return Block(self.old_start + old, self.old_end + old, self.new_start + new, self.new_end + new)


def changes(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Give the blocks that differ, in order; what stands between them is equal."""
    head = _common(old, new)
    tail = _common_tail(old, new, limit=min(len(old), len(new)) - head)
    middle = _changes(old[head : len(old) - tail], new[head : len(new) - tail])
    return [block.moved(head, head) for block in middle]


def hunks(blocks: Sequence[Block], *, context: int = CONTEXT_LINES) -> list[list[Block]]:
    """Group blocks that stand so near that their context lines touch."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and block.old_start - groups[-1][-1].old_end <= 2 * context:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def take_hunks(
    old: Sequence[str], new: Sequence[str], groups: Sequence[Sequence[Block]], accepted: Sequence[int]
) -> list[str]:
    """Give the lines of `old` with only the accepted groups (0-based) changed to what they are in `new`."""
    lines: list[str] = []
    position = 0
    for number in sorted(set(accepted)):
        for block in groups[number]:
            lines += old[position : block.old_start]
            lines += new[block.new_start : block.new_end]
            position = block.old_end
    return [*lines, *old[position:]]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    limit = min(len(old), len(new))
    return next((i for i in range(limit) if old[i] != new[i]), limit)


def _common_tail(old: Sequence[str], new: Sequence[str], *, limit: int) -> int:
    return next((i for i in range(limit) if old[-1 - i] != new[-1 - i]), limit)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Compare lines whose first and last differ."""
    if not old and not new:
        return []
    if not old or not new:
        return [Block(0, len(old), 0, len(new))]
    if len(old) + len(new) <= _SMALL_LINES:
        return _small(old, new)
    anchors = _anchors(old, new)
    if not anchors:
        return [Block(0, len(old), 0, len(new))]
    return _between(old, new, anchors)


def _small(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [Block(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


def _between(old: Sequence[str], new: Sequence[str], anchors: Sequence[tuple[int, int]]) -> list[Block]:
    """Compare what stands between lines that are known to be the same; each gap has no anchor inside."""
    blocks: list[Block] = []
    i = j = 0
    for a, b in (*anchors, (len(old), len(new))):
        gap_old, gap_new = old[i:a], new[j:b]
        head = _common(gap_old, gap_new)
        tail = _common_tail(gap_old, gap_new, limit=min(len(gap_old), len(gap_new)) - head)
        inner_old = gap_old[head : len(gap_old) - tail]
        inner_new = gap_new[head : len(gap_new) - tail]
        if len(inner_old) + len(inner_new) <= _SMALL_LINES and inner_old and inner_new:
            found = _small(inner_old, inner_new)
        else:
            found = [Block(0, len(inner_old), 0, len(inner_new))] if inner_old or inner_new else []
        blocks += [block.moved(i + head, j + head) for block in found]
        i, j = a + 1, b + 1
    return blocks


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Give pairs of lines that occur once on each side, as many as stand in the same order on both."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {line: j for j, line in enumerate(new) if new_counts[line] == 1}
    pairs = [(i, places[line]) for i, line in enumerate(old) if old_counts[line] == 1 and line in places]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give the longest run of pairs whose second numbers rise (patience sorting)."""
    tops: list[int] = []
    top_pairs: list[int] = []
    before: list[int] = []
    for index, (_i, j) in enumerate(pairs):
        place = bisect_left(tops, j)
        before.append(top_pairs[place - 1] if place else -1)
        if place == len(tops):
            tops.append(j)
            top_pairs.append(index)
        else:
            tops[place], top_pairs[place] = j, index
    chain: list[tuple[int, int]] = []
    at = top_pairs[-1] if top_pairs else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]

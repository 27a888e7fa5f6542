"""Suggests rules from the decisions of the past, with what each would have saved."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_tui.permissions.audit import AuditEntry
from agent_tui.permissions.grammar import Rule

ENOUGH = 3


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule that would have answered `count` questions the same way; `against` were answered the other way."""

    effect: str
    pattern: str
    count: int
    against: int
    examples: tuple[str, ...] = ()


def suggest(
    entries: Iterable[AuditEntry], *, rules: Sequence[Rule] = (), enough: int = ENOUGH
) -> list[Suggestion]:
    """Give patterns that a person answered alike at least `enough` times and never the other way.

    Only answers of a person count, and only patterns that were offered to them, so that nothing wider than what
    was asked is suggested; what they wrote themselves was not offered. Patterns that stand in `rules` already are left out.
    """
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[str, dict[str, None]] = defaultdict(dict)
    for entry in entries:
        if entry.who != "person" or not entry.offered or entry.edited:
            continue
        answers[entry.offered][entry.decision] += 1
        examples[entry.offered][entry.target] = None
    known = {rule.text for rule in rules}
    found = [_one(pattern, counts, tuple(examples[pattern])[:3]) for pattern, counts in answers.items()]
    usable = [s for s in found if s.count >= enough and s.against == 0 and s.pattern not in known]
    return sorted(usable, key=lambda suggestion: (-suggestion.count, suggestion.pattern))


def _one(pattern: str, counts: Counter[str], examples: tuple[str, ...]) -> Suggestion:
    effect, count = counts.most_common(1)[0]
    return Suggestion(effect, pattern, count, counts.total() - count, examples)

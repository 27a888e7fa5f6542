"""Notices when a model repeats itself."""

import json
from collections import Counter, deque
from collections.abc import Sequence

from agent_tui.agent.limits import LOOP_REPEATS
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.tools import ToolCall

_WINDOW = 12
_REPEATS_IN_WINDOW = 5

Signature = tuple[tuple[str, str], ...]


class LoopGuard:
    """Compares the rounds of one turn.

    Two rules. The same calls in `repeats` rounds in a row trip it; any different round starts the count again.
    A pair of calls and results that came more than 5 times in the last 12 rounds trips it too, which finds
    two calls that take turns.
    """

    def __init__(self, *, repeats: int = LOOP_REPEATS) -> None:
        self._repeats = repeats
        self._last: Signature = ()
        self._count = 0
        self._recent: deque[tuple[Signature, str]] = deque(maxlen=_WINDOW)

    def trips(self, calls: Sequence[ToolCall]) -> bool:
        """Count the round about to run and tell whether it is one too many."""
        signature = round_signature(calls)
        self._count = self._count + 1 if signature == self._last else 1
        self._last = signature
        if self._repeats and self._count >= self._repeats:
            return True
        seen = Counter(self._recent)
        return any(times > _REPEATS_IN_WINDOW for (past, _), times in seen.items() if past == signature)

    def saw(self, calls: Sequence[ToolCall], results: Sequence[str]) -> None:
        """Remember what a round that ran came to."""
        self._recent.append((round_signature(calls), "\0".join(results)))

    def reset(self) -> None:
        """Start again: the person said to go on."""
        self._last = ()
        self._count = 0
        self._recent.clear()


def round_signature(calls: Sequence[ToolCall]) -> Signature:
    """Give names and arguments of a round, sorted, with the arguments' keys in one order."""
    return tuple(sorted((call.name, _normal(call.arguments_json)) for call in calls))


def _normal(arguments_json: str) -> str:
    try:
        value = parse_json(arguments_json)
    except ValueError:
        return arguments_json
    return json.dumps(value, sort_keys=True)

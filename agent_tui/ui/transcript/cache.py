"""Finished strips and laid-out bodies, the least used dropped first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Bounded(Generic[Key, Value]):
    """A mapping that forgets what was not used for longest once the sum of the costs passes `limit`.

    The newest entry always stays, whatever it costs. `cost` is asked when the entry is put in.
    """

    def __init__(self, limit: int, cost: Callable[[Value], int] = lambda value: 1) -> None:
        self._limit = limit
        self._cost = cost
        self._kept: dict[Key, tuple[Value, int]] = {}
        self.spent = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key) -> Value | None:
        """Give the value and count it as used, or None."""
        entry = self._kept.pop(key, None)
        if entry is None:
            return None
        self._kept[key] = entry
        return entry[0]

    def put(self, key: Key, value: Value) -> None:
        """Keep `value`, dropping others if need be."""
        self.drop(key)
        cost = self._cost(value)
        self._kept[key] = (value, cost)
        self.spent += cost
        while self.spent > self._limit and len(self._kept) > 1:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Key) -> None:
        """Forget `key`, if it is there."""
        entry = self._kept.pop(key, None)
        if entry is not None:
            self.spent -= entry[1]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self.spent = 0

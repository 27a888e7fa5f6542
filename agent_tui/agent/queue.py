"""Messages typed while the agent works, waiting for their moment."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QueuedMessage:
    """One waiting message: delivered at the next safe point, or as the next turn when `after_turn`."""

    text: str
    after_turn: bool = False


class MessageQueue:
    """Holds what was typed meanwhile, oldest first."""

    def __init__(self) -> None:
        self._items: list[QueuedMessage] = []

    def steer(self, text: str) -> None:
        """Add a message for the next safe point: after the running tools, before the next request."""
        self._add(QueuedMessage(text))

    def follow_up(self, text: str) -> None:
        """Add a message for after the turn."""
        self._add(QueuedMessage(text, after_turn=True))

    def waiting(self) -> tuple[QueuedMessage, ...]:
        """List what waits, oldest first."""
        return tuple(self._items)

    def take_back(self) -> str | None:
        """Remove the newest message, of either kind, and give its text."""
        return self._items.pop().text if self._items else None

    def remove(self, index: int) -> str | None:
        """Remove the message at `index` (0-based, oldest first) and give its text; None when there is none."""
        return self._items.pop(index).text if 0 <= index < len(self._items) else None

    def take_steering(self) -> tuple[str, ...]:
        """Take all messages for the running turn."""
        taken = tuple(item.text for item in self._items if not item.after_turn)
        self._items = [item for item in self._items if item.after_turn]
        return taken

    def next_follow_up(self) -> str | None:
        """Take the oldest message of either kind: what is to be sent as the next turn."""
        return self._items.pop(0).text if self._items else None

    def clear(self) -> None:
        """Drop everything."""
        self._items.clear()

    def _add(self, item: QueuedMessage) -> None:
        if item.text.strip():
            self._items.append(item)

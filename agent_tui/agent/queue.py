"""Messages typed while the agent works, waiting for their moment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_tui.protocol.slash_line import as_typed


@dataclass(frozen=True)
class QueuedMessage:
    """One waiting message: delivered at the next safe point, or as the next turn when `after_turn`."""

    text: str
    after_turn: bool = False


class MessageQueue:
    """Holds what was typed meanwhile, oldest first.

    `keep` is given all that no record holds yet, at every change. `found` is what an earlier run kept: it is offered
    once and never sent by itself. Both hold texts as a person types them.
    """

    def __init__(
        self, *, keep: Callable[[Sequence[str]], None] | None = None, found: Sequence[str] = ()
    ) -> None:
        self._items: list[QueuedMessage] = []
        self._taken: list[str] = []
        self._beside: tuple[str, ...] = ()
        self._found = list(found)
        self._keep = keep

    def steer(self, text: str) -> None:
        """Add a message for the next safe point: after the running tools, before the next request."""
        self._add(QueuedMessage(text))

    def follow_up(self, text: str) -> None:
        """Add a message for after the turn."""
        self._add(QueuedMessage(text, after_turn=True))

    def waiting(self) -> tuple[QueuedMessage, ...]:
        """List what waits, oldest first."""
        return tuple(self._items)

    def remove(self, index: int) -> str | None:
        """Remove the message at `index` (0-based, oldest first) and give its text; None when there is none."""
        if not 0 <= index < len(self._items):
            return None
        removed = self._items.pop(index).text
        self._changed()
        return removed

    def take_steering(self) -> tuple[str, ...]:
        """Take all messages for the running turn."""
        taken = tuple(item.text for item in self._items if not item.after_turn)
        self._items = [item for item in self._items if item.after_turn]
        self._taken += map(as_typed, taken)
        return taken

    def put_back(self, texts: Sequence[str]) -> None:
        """Let messages of `take_steering` wait again, before all others."""
        for text in texts:
            self._taken.remove(as_typed(text))
        self._items[:0] = [QueuedMessage(text) for text in texts]
        self._changed()

    def next_follow_up(self) -> str | None:
        """Take the oldest message of either kind: what is to be sent as the next turn."""
        if not self._items:
            return None
        text = self._items.pop(0).text
        self._taken.append(as_typed(text))
        return text

    def recorded(self) -> None:
        """Say that what was taken stands in the session now: it need not be kept any longer."""
        if self._taken:
            self._taken.clear()
            self._changed()

    def offer_found(self) -> tuple[str, ...]:
        """Give once what an earlier run kept, oldest first; it stays kept until something is sent."""
        found, self._found = tuple(self._found), []
        self._taken += found
        return found

    def keep_beside(self, typed: Sequence[str]) -> None:
        """Keep what waits elsewhere, such as commands for the end of the turn, as it was typed."""
        self._beside = tuple(typed)
        self._changed()

    def _add(self, item: QueuedMessage) -> None:
        if item.text.strip():
            self._items.append(item)
            self._changed()

    def _changed(self) -> None:
        if self._keep is not None:
            waiting = [as_typed(item.text) for item in self._items]
            self._keep([*self._found, *self._taken, *waiting, *self._beside])

"""What was shown of which file: the read-before-write guard."""

from collections.abc import Mapping


class FileTracker:
    """Remembers reads and planned changes of one agent."""

    def start_round(self) -> None:
        """Begin a round: reads so far become reads of earlier rounds, plans are dropped."""

    def expect(self, call_id: str, bases: Mapping[str, str]) -> None:
        """Bind `call_id` to the contents its approved preview started from."""

"""What waits to be told to the model with the next prompt."""


class ToldOnce:
    """What the model is to be told with the next prompt."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        """Put a sentence there; "" is none."""
        if text:
            self._texts.append(text)

    def take(self) -> list[str]:
        """Give what is there, once."""
        taken, self._texts = self._texts, []
        return taken

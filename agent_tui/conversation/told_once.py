"""What waits to be told to the model with the next prompt."""


class ToldOnce:
    """What the model is to be told with the next prompt that stays in the conversation."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._given = 0

    def add(self, text: str) -> None:
        """Put a sentence there; "" is none."""
        if text:
            self._texts.append(text)

    def give(self) -> list[str]:
        """Give what is there, to go with a prompt; it waits on until `arrived`."""
        self._given = len(self._texts)
        return list(self._texts)

    def arrived(self) -> None:
        """Forget what was given last: its prompt stays in the conversation."""
        del self._texts[: self._given]
        self._given = 0

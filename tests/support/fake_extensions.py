from collections.abc import Sequence

from agent_tui.ui.house import Listing
from agent_tui.ui.plugged import Person, PluggedCommand


class FakeExtensions:
    """Extensions whose commands are in `offered`; what is run is kept in `calls`, `fails` says how it fails."""

    def __init__(self) -> None:
        self.offered: list[PluggedCommand] = []
        self.calls: list[tuple[str, str]] = []
        self.fails: dict[str, str] = {}
        self.shown = Listing()
        self.person: Person | None = None

    def bind(self, person: Person) -> None:
        self.person = person

    def commands(self) -> Sequence[PluggedCommand]:
        return self.offered

    async def run(self, name: str, args: str) -> str:
        self.calls.append((name, args))
        return self.fails.get(name, "")

    def listing(self) -> Listing:
        return self.shown

    async def restart(self, name: str) -> str:
        self.calls.append(("restart", name))
        return f"{name} runs again."

    def log(self, name: str) -> str:
        return f"log of {name}"

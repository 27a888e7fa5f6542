from textual.app import App, ComposeResult

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.widgets.activity import LEFT, Activity


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Host(App[None]):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.activity = Activity(Keymap(), clock=clock)

    def compose(self) -> ComposeResult:
        yield self.activity

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"muted": "#888888", "faint": "#666666"}


async def test_wait_for_a_retry_counts_down() -> None:
    clock = Clock()
    app = Host(clock)
    async with app.run_test(size=(80, 5)) as pilot:
        app.activity.start("Thinking")
        await pilot.pause()
        app.activity.say(f"Retrying in {LEFT} s (2 of 10): overloaded", wait_s=8.0)
        shown = []
        for passed in (0.0, 2.5, 7.9, 9.0):
            clock.now = 100.0 + passed
            shown.append(app.activity.render().plain.partition("Retrying in ")[2].partition(" s")[0])

    assert shown == ["8", "6", "1", "0"]

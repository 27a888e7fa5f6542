from collections.abc import Callable

from agent_tui.ui.presses import TWICE_S, Presses


class Desk:
    """Presses with a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self._due: list[tuple[float, Callable[[], None]]] = []
        self.presses = Presses(
            lambda: self.now,
            later=lambda seconds, then: self._due.append((self.now + seconds, then)),
            has_draft=lambda: False,
            ask_again=self.asked.append,
            typing_s=0.0,
        )

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        due, self._due = self._due, [(at, then) for at, then in self._due if at > self.now]
        for at, then in due:
            if at <= self.now:
                then()

    def press(self, key: str) -> bool:
        self.presses.saw(key)
        return self.presses.arm_exit()


def test_the_second_press_quits_and_the_first_is_forgotten_in_time() -> None:
    desk = Desk()

    assert not desk.press("ctrl+d")
    desk.pass_by(TWICE_S)
    assert not desk.press("ctrl+d")
    desk.pass_by(TWICE_S - 0.1)
    assert desk.press("ctrl+d")
    assert desk.asked == ["ctrl+d", "", "ctrl+d"]


def test_a_press_that_was_taken_back_does_not_end_the_time_of_the_next() -> None:
    desk = Desk()
    desk.press("ctrl+d")
    desk.presses.saw("x")
    desk.pass_by(TWICE_S - 0.1)
    desk.press("ctrl+d")
    desk.pass_by(1.0)

    assert desk.press("ctrl+d")

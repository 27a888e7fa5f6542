import pytest

from agent_tui.ui.notify import Notifier
from agent_tui.ui.progress import Progress, knows_progress

RUNNING, WAITING, NONE = ("\x1b]9;4;3\x1b\\", "\x1b]9;4;4;100\x1b\\", "\x1b]9;4;0\x1b\\")


def notifier(*, is_shown: bool) -> tuple[Notifier, list[str]]:
    sent: list[str] = []
    progress = Progress(is_shown=is_shown, send=sent.append)
    return Notifier("off", send=sent.append, has_focus=lambda: True, progress=progress), sent


def test_progress_runs_with_the_turn_waits_with_the_person_and_ends() -> None:
    there, sent = notifier(is_shown=True)

    there.turn_began()
    there.attention("2 calls wait")
    there.attention("2 calls wait")
    there.at_ease()
    there.turn_over()

    assert sent == [RUNNING, WAITING, RUNNING, NONE]


def test_progress_is_taken_away_when_the_program_ends_in_the_middle() -> None:
    there, sent = notifier(is_shown=True)

    there.turn_began()
    there.close()
    there.close()

    assert sent == [RUNNING, NONE]


def test_nothing_is_shown_for_a_question_without_a_turn() -> None:
    there, sent = notifier(is_shown=True)

    there.attention("trust this project?")
    there.at_ease()

    assert sent == []


def test_progress_that_is_off_writes_nothing() -> None:
    there, sent = notifier(is_shown=False)

    there.turn_began()
    there.attention("x")
    there.turn_over()

    assert sent == []


@pytest.mark.parametrize(
    ("environment", "knows"),
    [
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"WT_SESSION": "a"}, True),
        ({"ConEmuANSI": "ON"}, True),
        ({"VTE_VERSION": "8000"}, True),
        ({"VTE_VERSION": "7600"}, False),
        ({"TERM": "xterm-kitty"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM_PROGRAM": "ghostty", "TMUX": "/tmp/x"}, False),
        ({}, False),
    ],
)
def test_progress_is_for_terminals_that_know_it(environment: dict[str, str], knows: bool) -> None:
    assert knows_progress(environment) is knows

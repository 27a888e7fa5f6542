import os
from collections.abc import Callable

import pytest

from agent_tui.wiring import say_farewell


def pipe_without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def terminal_that_is_gone() -> int:
    keyboard, terminal = os.openpty()
    os.close(keyboard)
    return terminal


@pytest.mark.parametrize("gone", [pipe_without_reader, terminal_that_is_gone])
def test_a_farewell_that_nobody_can_read_is_no_fault(gone: Callable[[], int]) -> None:
    with os.fdopen(gone(), "w", encoding="utf-8") as out:
        say_farewell("Session kept.", out=out)


def test_a_farewell_is_written_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    say_farewell("Session kept.")

    assert capfd.readouterr().out == "Session kept.\n"

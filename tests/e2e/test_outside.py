from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY


def test_the_conversation_is_shown_in_the_persons_pager(place: Place) -> None:
    pager = place.home / "pager"
    pager.write_text(f'#!/bin/sh\ncat > "{place.home}/paged"\necho PAGED\nread -r _ < /dev/tty\n')
    pager.chmod(0o755)
    with place.terminal(PAGER=str(pager)) as terminal:
        terminal.until(READY)
        terminal.send("explain this project")
        terminal.until("› explain this project")
        terminal.send("\r")
        terminal.until("Counts petals")
        terminal.send("\x0f")
        terminal.until("% of")
        terminal.send("v")
        terminal.until("PAGED")
        terminal.send("\r")
        terminal.until("% of")
        terminal.send("q")
        terminal.until(READY)

    paged = (place.home / "paged").read_text()
    assert "> explain this project" in paged
    assert "\x1b" not in paged


def test_the_conversation_is_written_into_the_scrollback(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("explain this project")
        terminal.until("› explain this project")
        terminal.send("\r")
        terminal.until("Counts petals")
        terminal.send("\x0f")
        terminal.until("% of")
        terminal.send("s")
        terminal.until("Enter goes back to agent-tui")
        dumped = bytes(terminal.raw).rpartition(b"\x1b[?1049l")[2]
        terminal.send("\r")
        terminal.until("% of")

    assert b"> explain this project" in dumped
    assert b"\x1b[?1049h" in bytes(terminal.raw).rpartition(b"Enter goes back")[2]


def test_a_pager_that_is_not_there_is_one_sentence(place: Place) -> None:
    with place.terminal(PAGER="no-such-pager") as terminal:
        terminal.until(READY)
        terminal.send("/transcript pager")
        terminal.until("› /transcript pager")
        terminal.send("\r")
        terminal.until("The pager 'no-such-pager' did not do its work")


def test_an_editor_that_fails_leaves_the_program_as_it_was(place: Place) -> None:
    with place.terminal(EDITOR="false") as terminal:
        terminal.until(READY)
        terminal.send("a draft")
        terminal.until("› a draft")
        terminal.send("\x07")
        terminal.until("The editor 'false' did not do its work")
        terminal.send(" goes on")
        terminal.until("› a draft goes on")

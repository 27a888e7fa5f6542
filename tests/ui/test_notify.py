import pytest

from agent_tui.ui.notify import Notifier
from agent_tui.ui.settings import NotifyStyle


def notifier(style: NotifyStyle = "auto", *, focus: bool = False) -> tuple[Notifier, list[str]]:
    sent: list[str] = []
    return Notifier(style, send=sent.append, has_focus=lambda: focus), sent


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("auto", "\x1b]9;agent-tui: 2 calls wait\x1b\\"),
        ("osc777", "\x1b]777;notify;agent-tui;2 calls wait\x1b\\"),
        ("bell", "\a"),
    ],
)
def test_a_person_who_looks_elsewhere_is_told(style: NotifyStyle, expected: str) -> None:
    there, sent = notifier(style)

    there.attention("2 calls wait")

    assert sent[-1] == expected


def test_a_focused_terminal_gets_only_a_title() -> None:
    there, sent = notifier(focus=True)

    there.attention("2 calls wait")

    assert sent == ["\x1b[22;0t", "\x1b]0;◆ 2 calls wait · agent-tui\x1b\\"]


def test_off_writes_nothing() -> None:
    there, sent = notifier("off")

    there.attention("x")
    there.turn_over()
    there.close()

    assert sent == []


def test_the_title_goes_back_when_nothing_waits_and_at_the_end() -> None:
    there, sent = notifier(focus=True)
    there.attention("x")

    there.at_ease()
    there.at_ease()
    there.close()
    there.close()

    assert sent[2:] == ["\x1b]0;agent-tui\x1b\\", "\x1b[23;0t"]


def test_control_characters_cannot_leave_the_text() -> None:
    there, sent = notifier()

    there.attention("a\x1b\\b\x07c;d")

    assert all(text.count("\x1b") <= 2 and "\x07" not in text for text in sent)

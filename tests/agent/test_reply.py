import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.agent.reply import Joint


def joined(shown: str, pieces: list[str]) -> str:
    joint = Joint(shown)
    return "".join(joint.feed(piece) for piece in pieces) + joint.finish()


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


SHOWN = "First I read the file, then I look for the function that"


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_reply_that_starts_again_from_its_beginning_is_shown_once(size: int) -> None:
    whole = SHOWN + " breaks, and I fix it."

    assert joined(SHOWN, cut(whole, size)) == " breaks, and I fix it."


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_reply_that_starts_with_the_last_words_is_shown_once(size: int) -> None:
    rest = "look for the function that breaks, and I fix it."

    assert joined(SHOWN, cut(rest, size)) == " breaks, and I fix it."


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_reply_that_goes_on_is_shown_whole(size: int) -> None:
    assert joined(SHOWN, cut(" breaks, and I fix it.", size)) == " breaks, and I fix it."


def test_a_reply_that_is_nothing_but_a_repetition_adds_nothing() -> None:
    assert joined(SHOWN, [SHOWN]) == ""
    assert joined(SHOWN, ["F"]) == "F"


@given(st.text(alphabet="ab ", max_size=40), st.lists(st.text(alphabet="ab ", max_size=9), max_size=9))
def test_nothing_but_what_was_shown_is_ever_dropped(shown: str, pieces: list[str]) -> None:
    whole = "".join(pieces)

    new = joined(shown, pieces)

    dropped = whole[: len(whole) - len(new)]
    assert whole.endswith(new)
    assert dropped in shown

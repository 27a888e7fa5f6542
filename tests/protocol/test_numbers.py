import pytest

from agent_tui.protocol.numbers import whole_number


@pytest.mark.parametrize(("typed", "number"), [("0", 0), ("7", 7), ("007", 7), ("999999999", 999_999_999)])
def test_digits_are_a_number(typed: str, number: int) -> None:
    assert whole_number(typed) == number


@pytest.mark.parametrize("typed", ["", "-1", "+1", " 1", "1.0", "one", "²", "٣", "1_0", "9" * 10, "9" * 5000])
def test_what_is_no_small_number_in_digits_is_none(typed: str) -> None:
    assert whole_number(typed) is None

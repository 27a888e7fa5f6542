import pytest

from agent_tui.protocol.slash_line import as_typed, slash_line, without_escape


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("/fix 12 now", ("fix", "12 now")),
        ("  /fix\n12\n", ("fix", "12")),
        ("/fix\t12", ("fix", "12")),
        ("/", ("", "")),
        ("/ fix", ("", "fix")),
        ("/etc", ("etc", "")),
        ("/etc/hosts is what?", None),
        ("//fix", None),
        ("fix /it", None),
        ("", None),
    ],
)
def test_a_line_with_one_slash_calls_a_command_unless_it_begins_with_a_path(
    text: str, called: tuple[str, str] | None
) -> None:
    assert slash_line(text) == called


def test_the_slash_that_says_it_is_a_text_is_not_part_of_it() -> None:
    assert [without_escape(text) for text in ("//fix", "/fix", "fix")] == ["/fix", "/fix", "fix"]


@pytest.mark.parametrize("text", ["/fix", "/fix it", "//fix", "/", "/etc/hosts is what?", "fix", ""])
def test_what_is_given_back_is_sent_again_as_the_same_text(text: str) -> None:
    assert slash_line(as_typed(text)) is None
    assert without_escape(as_typed(text)) == text

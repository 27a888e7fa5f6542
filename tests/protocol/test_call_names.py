import pytest

from agent_tui.protocol.call_names import plain_name, plain_title


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ('{"timeout": 3, "command": "make\\n test"}', "make test"),
        ('{"file_path": "a.py", "content": "x"}', "a.py"),
        ('{"pattern": "*.py", "path": "src"}', "*.py"),
        ('{"url": "https://x.test/"}', "https://x.test/"),
        ('{"command": 7}', ""),
        ("[1]", ""),
        ("{broken", ""),
        ("", ""),
    ],
)
def test_a_call_is_named_by_the_argument_that_says_most(arguments: str, title: str) -> None:
    assert plain_title(arguments) == title


def test_a_tool_is_named_as_a_person_reads_it() -> None:
    assert [plain_name(name) for name in ("bash_output", "read", "mcp__x__do_it", "")] == [
        "Bash output",
        "Read",
        "mcp__x__do_it",
        "",
    ]

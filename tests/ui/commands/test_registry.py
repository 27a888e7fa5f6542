import pytest

from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.commands.fuzzy import fuzzy, rank
from agent_tui.ui.commands.registry import Command, CommandHost, Registry


async def nothing(_host: CommandHost, _args: str) -> None: ...


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_commands())


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("/help", "help", ""),
        ("  /help  keys  ", "help", "keys"),
        ("/COST", "usage", ""),
        ("/?", "help", ""),
        ("/new-session", "clear", ""),
        ("/summarize the\nplan", "compact", "the\nplan"),
    ],
)
def test_a90_names_aliases_and_arguments_are_read(
    registry: Registry, text: str, name: str, args: str
) -> None:
    parsed = registry.parse(text)

    assert parsed is not None
    assert parsed.command is not None
    assert (parsed.command.name, parsed.args) == (name, args)


@pytest.mark.parametrize("text", ["help", "//help", "", "say /help", "./run", "/etc/hosts is what?"])
def test_text_without_one_slash_at_the_start_is_no_command(registry: Registry, text: str) -> None:
    assert registry.parse(text) is None


def test_x12_the_first_to_register_a_name_keeps_it(registry: Registry) -> None:
    said = registry.register(Command("help", "mine", nothing, source="ext"))

    assert "left out" in said
    found = registry.find("help")
    assert found is not None
    assert found.source == "built in"


@pytest.mark.parametrize(
    ("typed", "first"), [("he", "help"), ("cost", "usage"), ("thm", "theme"), ("mo", "mode"), ("q", "quit")]
)
def test_a_few_letters_find_a_command(registry: Registry, typed: str, first: str) -> None:
    assert registry.matches(typed)[0].item.name == first


def test_nothing_matches_nonsense(registry: Registry) -> None:
    assert registry.matches("zzzz") == []
    assert "/help lists them" in registry.unknown("zzzz")


def test_a_prefix_beats_a_match_inside_and_that_beats_scattered_letters() -> None:
    words = ["xxmodexx", "mode", "my-old-deep-end", "code-mode"]

    assert [match.item for match in rank("mode", words, str)] == [
        "mode",
        "code-mode",
        "xxmodexx",
        "my-old-deep-end",
    ]


def test_letters_must_come_in_order() -> None:
    assert fuzzy("ab", "ba") is None
    assert fuzzy("", "anything") == (0.0, ())
    assert fuzzy("AB", "xaxb") is not None

from pathlib import Path

import pytest

from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.permissions import Decision
from agent_tui.protocol.rule_words import split_words
from agent_tui.run.inputs import read_inputs, read_schema
from agent_tui.run.options import RunOptions

SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer"}}}'


def test_schema_is_read_from_the_text_or_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(SCHEMA)

    assert read_schema(SCHEMA) == read_schema(str(tmp_path / "s.json"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "no JSON"),
        ('{"type": "array"}', 'type "object"'),
        ('{"type": "object", "properties": 3}', "no JSON schema"),
        ("nowhere.json", "cannot read"),
    ],
)
def test_schema_that_cannot_be_used_is_named(given: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_schema(given)


def test_words_are_split_outside_brackets() -> None:
    assert split_words(["Bash(git *), Edit(/a b/**) Read", "glob"]) == [
        "Bash(git *)",
        "Edit(/a b/**)",
        "Read",
        "glob",
    ]


def test_flags_become_rules_and_hidden_tools(tmp_path: Path) -> None:
    options = RunOptions(
        allowed_tools=("Bash(git *)",), disallowed_tools=("Write WebFetch(domain:x.org)",), tools="read, glob"
    )

    inputs = read_inputs(options, tmp_path)

    assert [(rule.effect, rule.text, rule.origin.file) for rule in inputs.rules] == [
        (Decision.ALLOW, "Bash(git *)", "--allowed-tools"),
        (Decision.DENY, "Write", "--disallowed-tools"),
        (Decision.DENY, "WebFetch(domain:x.org)", "--disallowed-tools"),
    ]
    assert (inputs.hidden, inputs.tools) == (("edit",), ("read", "glob"))


def test_rule_that_cannot_be_read_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--allowed-tools"):
        read_inputs(RunOptions(allowed_tools=("Bash()",)), tmp_path)


def test_prompt_comes_from_the_flag_or_its_file_but_not_both(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Be a pirate.")

    inputs = read_inputs(
        RunOptions(system_prompt_file=tmp_path / "p.md", append_system_prompt="Hm."), tmp_path
    )

    assert (inputs.system_prompt, inputs.append_system_prompt) == ("Be a pirate.", "Hm.")
    with pytest.raises(UsageError, match="not both"):
        read_inputs(RunOptions(system_prompt="x", system_prompt_file=tmp_path / "p.md"), tmp_path)


def test_fallback_models_are_a_list_of_names() -> None:
    assert RunOptions(fallback_model="a, b:c,").overrides({})["model.fallback"] == (
        "--fallback-model",
        ["a", "b:c"],
    )

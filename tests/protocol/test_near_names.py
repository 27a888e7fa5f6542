import ast
from pathlib import Path

import pytest

from agent_tui.protocol.near_names import did_you_mean, near_names, slips

SOURCE = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("wordcont", ["read", "wordcount"], ["wordcount"]),
        ("raed", ["read", "edit"], ["read"]),
        ("NORD", ["nord", "dark"], ["nord"]),
        ("an", ["openai", "anthropic"], ["anthropic"]),
        ("theme", ["themes.folder", "ui.theme"], ["ui.theme", "themes.folder"]),
        ("xyz", ["read", "edit"], []),
        ("", ["read", "edit"], []),
        ("a", ["alpha", "beta"], []),
    ],
)
def test_names_near_to_one(name: str, known: list[str], near: list[str]) -> None:
    assert near_names(name, known) == near


def test_at_most_three_are_named_and_the_likeliest_first() -> None:
    known = [f"petal{number}" for number in range(9)]

    assert near_names("petal7x", known)[0] == "petal7"
    assert slips("pre_tol", ["post_tool", "pre_tool"]) == ["pre_tool"]
    assert len(near_names("petal", known)) == 3


def test_what_only_begins_a_name_is_no_slip() -> None:
    assert slips("do", ["doctor"]) == []
    assert slips("docter", ["doctor"], likeness=0.8) == ["doctor"]


def test_sentence_ends_in_a_question_else_in_what_there_is() -> None:
    assert did_you_mean("pln", ["plan", "default"], end=".") == "; did you mean 'plan'?"
    assert did_you_mean("xyz", ["plan", "default"], end=".") == "; there are plan, default."
    assert did_you_mean("xyz", ["plan"], otherwise="; look there", end=".") == "; look there."
    assert did_you_mean("xyz", [], end=".") == "; there are none."
    assert did_you_mean("xyz", [f"n{number}" for number in range(30)]).endswith("n23 and 6 more")


def test_one_function_decides_what_is_near() -> None:
    others = [
        str(path.relative_to(SOURCE))
        for folder in ("agent_tui", "tools")
        for path in sorted((SOURCE / folder).rglob("*.py"))
        if path.name != "near_names.py"
        and any(
            isinstance(node, ast.Attribute) and node.attr == "get_close_matches"
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]

    assert others == []


def test_no_sentence_lists_names_without_a_suggestion() -> None:
    listing = "there are {', '.join("
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in sorted((SOURCE / "agent_tui").rglob("*.py"))
        for number, line in enumerate(path.read_text().split("\n"), start=1)
        if listing in line
        and "otherwise" not in line
        and "others" not in line
        and path.name != "near_names.py"
    ]

    assert found == []

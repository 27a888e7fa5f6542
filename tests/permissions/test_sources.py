import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule
from agent_tui.permissions.lint import lint
from agent_tui.permissions.rules import RuleBook, RuleProblem
from agent_tui.permissions.sources import RuleFile, claude_files, load_book, read_rules
from agent_tui.protocol.permissions import Decision

TOML = """\
model = "x"
[permissions]
deny = [
  "Bash(rm *)",
  'Read(.env)',
]
ask = ["Bash(git push *)"]
allow = ["Edit(/src/**)", "Bash(npm run *)"]
"""


def read(path: Path) -> list[Any]:
    return list(read_rules(RuleFile(path, Layer.USER, path.parent)))


def test_rules_of_a_settings_file_know_their_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TOML)

    found = [(rule.effect.value, rule.text, rule.origin.line) for rule in read(path)]

    assert found == [
        ("deny", "Bash(rm *)", 4),
        ("deny", "Read(.env)", 5),
        ("ask", "Bash(git push *)", 7),
        ("allow", "Edit(/src/**)", 8),
        ("allow", "Bash(npm run *)", 8),
    ]


@pytest.mark.parametrize("prefix", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_cf_01_a_mark_at_the_start_and_windows_line_ends_are_fine(
    tmp_path: Path, prefix: str, ending: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes((prefix + TOML.replace("\n", ending)).encode())

    assert all(isinstance(item, Rule) for item in read(path))
    assert len(read(path)) == 5


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'model = "x\n[permissions]\ndeny = ["Bash(rm *)"]\n', 1),
        ('[permissions]\ndeny = ["Bash(rm *)"]\n'.encode("utf-16"), 0),
        (b"x = 1\n" * 300_000, 0),
        (b'[permissions]\ndeny = "Bash(rm *)"\n', 2),
        (b'[permissions]\nallow = ["Bash(x)"]\ndeny = [5]\n', 3),
        (b'[permissions]\ndeny = ["Bash(rm *"]\n', 2),
        (b"permissions = 3\n", 0),
    ],
    ids=["quote", "utf-16", "too-big", "no-list", "no-text", "bracket", "no-table"],
)
def test_cf_01_a_broken_file_is_a_problem_with_its_line(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)

    book = load_book([RuleFile(path, Layer.USER, tmp_path)])

    assert [(problem.file, problem.line) for problem in book.problems] == [(str(path), line)]


def test_cf_01_a_directory_is_a_problem_and_no_file_or_an_empty_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    (tmp_path / "empty.toml").write_text("")

    book = load_book(
        [
            RuleFile(tmp_path / name, Layer.USER, tmp_path)
            for name in ("config.toml", "empty.toml", "none.toml")
        ]
    )

    assert len(book.problems) == 1


def test_lists_of_claude_are_read_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "proj/.claude").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    path = tmp_path / "proj/.claude/settings.local.json"
    path.write_text(
        '{\n "permissions": {\n  "allow": [\n   "Bash(npm run test:*)",\n   "Bash(git diff:*)"\n  ],\n  "deny": ["Read(./.env)"]\n }\n}\n'
    )

    (file,) = claude_files(tmp_path / "proj", tmp_path / "home")

    assert [
        (rule.effect.value, rule.specifier, rule.origin.line)
        for rule in read_rules(file)
        if isinstance(rule, Rule)
    ] == [
        ("deny", "./.env", 7),
        ("allow", "npm run test *", 4),
        ("allow", "git diff *", 5),
    ]
    path.write_text('{"permissions": {"deny": ["Bash(rm *)"],}}')
    assert isinstance(next(iter(read_rules(file))), RuleProblem)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Bash(",
        "Bash()",
        "Bash(  )",
        "(x)",
        "Bash)x(",
        "WebFetch(example.com)",
        "WebFetch(domain:)",
        "WebFetch(domain:a b)",
        "Read(!x)",
        "mcp__a(x)",
        "Ba*sh",
        "1x",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(RuleError):
        parse_rule(text, Decision.ALLOW, Origin(Layer.USER, Path("/")))


@pytest.mark.parametrize(
    ("text", "tool", "specifier"),
    [
        ("Bash", "bash", None),
        ("bash(git diff:*)", "bash", "git diff *"),
        ("Bash(python -c 'print(1)')", "bash", "python -c 'print(1)'"),
        ("WRITE(/a)", "edit", "/a"),
        ("webfetch(domain:Example.COM.)", "webfetch", "example.com"),
        ("WebFetch(domain:*.a.com)", "webfetch", "*.a.com"),
        ("mcp__a__b", "mcp__a__b", None),
        ("Agent(x)", "task", "x"),
        (" Skill(pdf) ", "skill", "pdf"),
        ("*", "*", None),
    ],
)
def test_h61_a_rule_is_read_in_one_spelling(text: str, tool: str, specifier: str | None) -> None:
    rule = parse_rule(text, Decision.ALLOW, Origin(Layer.USER, Path("/")))

    assert (rule.tool, rule.specifier) == (tool, specifier)


def kinds(*rules: tuple[str, str], trusted: bool = True, layer: Layer = Layer.USER) -> list[str]:
    parsed = [
        parse_rule(text, Decision(effect), Origin(layer, Path("/p"), "f", line))
        for line, (effect, text) in enumerate(rules, 1)
    ]
    return [finding.kind for finding in lint(RuleBook(parsed, trusted=trusted))]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([("allow", "Bash(npm test)"), ("deny", "Edit(/a/**)"), ("ask", "mcp__x__y")], []),
        ([("deny", "Bsh(rm *)")], ["unknown-tool"]),
        ([("deny", "Bash(rm *)"), ("allow", "Bash(rm x)")], ["shadowed"]),
        ([("allow", "Bash(git push *)"), ("ask", "Bash(git *)")], ["shadowed"]),
        ([("deny", "Edit(/a/**)"), ("allow", "Edit(/a/b/c)")], ["shadowed"]),
        ([("deny", "mcp__x"), ("allow", "mcp__x__y")], ["shadowed"]),
        ([("deny", "Bash"), ("allow", "Bash(ls)")], ["shadowed"]),
        ([("allow", "Bash(ls *)"), ("allow", "bash(ls:*)")], ["duplicate"]),
        ([("allow", "Bash(git add . && git commit *)")], ["never-matches"]),
        ([("deny", "Bash(a | b)")], ["never-matches"]),
        ([("allow", "Bash(echo x > y)")], ["never-matches"]),
        ([("allow", "Bash(X=1 ls)")], ["never-matches"]),
        ([("allow", "Bash(agent-tui list)")], ["never-matches"]),
        ([("allow", "Edit(/.git/**)")], ["never-matches"]),
        ([("allow", "Edit(.envrc)")], ["never-matches"]),
        ([("allow", "Bash(python3 *)")], ["too-wide"]),
        ([("allow", "Bash(sudo *)")], ["too-wide"]),
        ([("allow", "Bash(xargs *)")], ["too-wide"]),
        ([("allow", "Bash(npx *)")], ["too-wide"]),
        ([("allow", "Bash(*)")], ["too-wide"]),
        ([("allow", "Bash")], ["too-wide"]),
        ([("allow", "*")], ["too-wide"]),
        ([("allow", "WebFetch(domain:*)")], ["too-wide"]),
        ([("allow", "Edit(//**)")], ["too-wide"]),
        ([("deny", "Bash(python3 *)")], []),
    ],
)
def test_lint_finds_each_kind_of_faulty_rule(rules: list[tuple[str, str]], expected: list[str]) -> None:
    assert kinds(*rules) == expected


def test_lint_names_untrusted_rules_and_broken_files() -> None:
    assert kinds(("allow", "Bash(ls)"), trusted=False, layer=Layer.PROJECT) == ["untrusted"]
    findings = lint(RuleBook([], problems=[RuleProblem("x", "f", 3)]))
    assert [(f.kind, f.file, f.line) for f in findings] == [("broken", "f", 3)]


def test_json_lines_of_the_corpus_are_whole() -> None:
    lines = (Path(__file__).parent / "commands.jsonl").read_text().splitlines()

    assert {json.loads(line)["class"] for line in lines} == {
        "read-only-safe",
        "needs-approval",
        "outside-workspace-write",
        "network",
    }
    assert len(lines) == 206

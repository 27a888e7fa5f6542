"""What is not checked and what is not run says why, on its line."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    ROOT / "setup.py",
    *(
        path
        for folder in ("agent_tui", "tools", "tests", "docs")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ),
]
IGNORE = re.compile(
    r"#\s*(?:type:\s*ignore|pyright:\s*\w+|noqa\b:?)(?:\[[\w, -]*\]|[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\s)*"
)
SKIPS = ("skip", "skipif", "xfail", "importorskip")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def named(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_every_ignore_says_why() -> None:
    unexplained = [
        f"{named(path, line)} {text}"
        for path in FILES
        for line, text in comments(path)
        if IGNORE.search(text) and not re.search(r"\w\w", IGNORE.sub("", text))
    ]

    assert unexplained == []


def test_no_test_ignores_a_type_because_nothing_checks_them_there() -> None:
    found = [
        named(path, line)
        for path in FILES
        if path.is_relative_to(ROOT / "tests")
        for line, text in comments(path)
        if re.match(r"#\s*(type:\s*ignore|pyright:)", text)
    ]

    assert found == []


def skips(path: Path) -> Iterator[tuple[int, bool]]:
    """Give the line of everything that leaves a test out, and whether it says why."""
    called = {}
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called[id(node.func)] = node
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in SKIPS:
            continue
        owner = ast.unparse(node.value)
        if owner not in ("pytest", "pytest.mark", "mark"):
            continue
        call = called.get(id(node))
        yield node.lineno, call is not None and _says_why(call, owner, node.attr)


def _says_why(call: ast.Call, owner: str, kind: str) -> bool:
    said = [word.value for word in call.keywords if word.arg == "reason"]
    if kind == "skip" and owner == "pytest":
        said += call.args[:1]
    return any(
        not isinstance(text, ast.Constant) or (isinstance(text.value, str) and text.value.strip())
        for text in said
    )


def test_everything_that_leaves_a_test_out_says_why() -> None:
    silent = [
        named(path, line)
        for path in FILES
        if path.is_relative_to(ROOT / "tests")
        for line, says_why in skips(path)
        if not says_why
    ]

    assert silent == []


@pytest.mark.parametrize(
    ("code", "says_why"),
    [
        ("pytest.skip('no rg here')", True),
        ("pytest.skip()", False),
        ("pytest.skip('')", False),
        ("@pytest.mark.skip\ndef test(): ...", False),
        ("@pytest.mark.skipif(True, reason='no rg here')\ndef test(): ...", True),
        ("@pytest.mark.skipif(True)\ndef test(): ...", False),
        ("pytest.importorskip('yaml')", False),
        ("pytest.param(1, marks=pytest.mark.xfail(reason=WHY))", True),
    ],
)
def test_what_says_why_is_told_from_what_does_not(tmp_path: Path, code: str, says_why: bool) -> None:
    file = tmp_path / "some.py"
    file.write_text(code)

    assert [said for _, said in skips(file)] == [says_why]

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "agent_tui"
BEGIN = ("run_worker", ".work", "_work", "_in_worker", "switch.run")
FILES = [
    path for path in sorted(SOURCE.rglob("*.py")) if any(f"{name}(" in path.read_text() for name in BEGIN)
]


def begun(path: Path) -> list[str]:
    """The calls that may never begin what they are given, and are given a coroutine instead of the function that makes it."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func).endswith(BEGIN)
        and isinstance(node.args[0], ast.Call)
        and ast.unparse(node.args[0].func) != "partial"
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_worker_that_never_begins_leaves_no_coroutine_that_nobody_awaited(path: Path) -> None:
    assert begun(path) == []


def test_there_are_workers() -> None:
    assert len(FILES) > 5

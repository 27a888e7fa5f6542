import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LEADS = (TESTS / "seed_rows.md").read_text().split("## Leads")[1]
ROWS = [line.split("|") for line in LEADS.splitlines() if re.match(r"\| \d", line)]


@pytest.fixture(scope="module")
def names() -> set[str]:
    return {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("row", ROWS, ids=[row[1].strip() for row in ROWS])
def test_each_lead_names_tests_that_exist(row: list[str], names: set[str]) -> None:
    named = re.findall(r"`(\w+)`", row[3])

    assert named
    assert set(named) <= names

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui import Agent, Result
from tests.e2e.conftest import Place
from tests.support.patience import RUN_S

PAGE = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_example_runs(place: Place, tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "example.py").write_text(found[1])

    done = subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "example.py"), str(place.project)],
        env=place.env(),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "[Write: petals.txt]" in done.stdout
    assert "end_turn: 0 tokens" in done.stdout
    assert (place.project / "petals.txt").read_text() == "five\n"


def test_every_argument_and_member_is_described() -> None:
    arguments = set(inspect.signature(Agent).parameters)
    members = {name for name in vars(Agent) if not name.startswith("_")}
    fields = set(Result.__dataclass_fields__) | {"ok"}

    described = set(re.findall(r"`(?:await )?(\w+)[^`]*`", PAGE))

    assert arguments | members | fields <= described

import os
import re
import subprocess
import sys
from pathlib import Path

from agent_tui.ui.bindings import ACTIONS, DEFAULTS
from tests.support.patience import RUN_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "approvals.md").read_text()
README = (ROOT / "README.md").read_text()


def test_every_deciding_key_of_the_screen_stands_on_its_page() -> None:
    table = PAGE.split("## Keys")[1].split("##")[0]
    named = set(re.findall(r"`([^`]+)`", table))
    deciding = set(list(ACTIONS["approval"])[: list(ACTIONS["approval"]).index("up")])

    missing = {
        key
        for key, action in DEFAULTS["approval"].items()
        if action in deciding and key not in named and key.title() not in named and key != "escape"
    }

    assert missing == set()
    assert "Esc" in named


def test_pictures_of_the_readme_are_there_and_are_made_by_the_script(tmp_path: Path) -> None:
    shown = re.findall(r"\(docs/pictures/([^)]+)\)", README)
    assert all((ROOT / "docs/pictures" / name).stat().st_size < 80_000 for name in shown)

    script = ROOT / "docs/pictures/make.py"
    made = tmp_path / "made"
    made.mkdir()
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, str(script), str(made)], check=True, timeout=RUN_S, cwd=tmp_path, env=env)

    assert sorted(path.name for path in made.glob("*.svg")) == sorted(shown)
    words = (made / "2-round.svg").read_text().replace("&#160;", " ")
    assert "Approve 5 calls" in words
    assert "1 by rule" in words

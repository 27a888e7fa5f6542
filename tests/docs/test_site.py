import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the extra docs is not installed")
pytest.importorskip("myst_parser", reason="the extra docs is not installed")

ROOT = Path(__file__).parents[2]
PAGES = {
    "index.rst": "Pages\n=====\n\n.. toctree::\n\n   faulty\n",
    "faulty.md": "# Faulty\n\n[a page](nowhere.md)\n[a heading](#nothing)\n[another](left-out.md#never)\n",
    "reference.rst": ":orphan:\n\nReference\n=========\n\n:py:class:`agent_tui.Nothing`\n",
    "left-out.md": "# Left out\n\nNo page leads here.\n",
}


def test_faults_of_pages_fail_the_build(tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs/conf.py", tmp_path)
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text)

    command = re.search(
        r"^docs: .*\n\t\$\(BIN\)/python (.*) docs build/docs$", (ROOT / "Makefile").read_text(), re.M
    )
    assert command is not None
    done = subprocess.run(
        [sys.executable, *command[1].split(), tmp_path, tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    for fault in (
        "faulty.md:3: WARNING: 'myst' cross-reference target not found: 'nowhere.md'",
        "faulty.md:3: WARNING: 'myst' cross-reference target not found: 'nothing'",
        "faulty.md:3: WARNING: local id not found in doc 'left-out': 'never'",
        "reference.rst:6: WARNING: py:class reference target not found: agent_tui.Nothing",
        "left-out.md: WARNING: document isn't included in any toctree",
    ):
        assert fault in done.stderr, done.stderr


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), ROOT / "agent_tui/ARCHITECTURE.md"]), ids=lambda page: page.name
)
def test_links_of_pages_outside_of_the_site_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []

"""Writes down which commit a wheel or an sdist was made of, so that `agent-tui --version` can name it."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))  # a build backend does not look beside the file

from agent_tui.protocol.version import COMMIT_FILE, checkout_commit  # noqa: E402 - found by the line above


def write_commit(root: Path) -> None:
    """Write the commit below `root`, a tree about to be packed. Outside of a checkout what an sdist brought stays."""
    if commit := checkout_commit(ROOT):
        (root / "agent_tui" / COMMIT_FILE).write_text(f"{commit}\n", encoding="utf-8")


class BuildWithCommit(build_py):
    """Copies the modules; an editable install asks the checkout itself."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            write_commit(Path(self.build_lib))


class SdistWithCommit(sdist):
    """Copies the sources."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        write_commit(Path(base_dir))


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SdistWithCommit})

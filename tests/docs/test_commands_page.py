import re
import subprocess
from pathlib import Path

from agent_tui.extensions.commands import CommandLibrary
from agent_tui.extensions.places import FAMILIES, Folder
from agent_tui.providers.scripted import text
from tests.support.core_world import config_folder, open_core

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()


def example() -> str:
    found = re.search(r"```markdown\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


async def test_the_example_command_sends_commits_and_file(workspace: Path) -> None:
    folder = config_folder() / "commands"
    folder.mkdir()
    (folder / "explain.md").write_text(example())
    (workspace / "a.txt").write_text("petals\n")
    git = ["git", "-C", str(workspace)]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Count petals"]):
        subprocess.run([*git, *arguments], check=True)
    async with open_core(workspace, text("done")) as world:
        await world.core.run_prompt("/explain a.txt")

        assert world.approver.asked == []
        assert "Explain what happened to a.txt lately" in world.words()
        assert "Count petals" in world.words()
        assert "1\tpetals" in world.words()


def test_the_example_loads_without_a_fault_and_its_keys_are_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "explain.md").write_text(example())

    found = CommandLibrary([Folder(tmp_path, "user")], project_counts=lambda: True).find()

    assert found.faults == ()
    for key in ("description", "argument-hint", "allowed-tools", "model"):
        assert f"| `{key}` |" in PAGE
    for family in FAMILIES:
        assert f"`{family}/commands`" in PAGE

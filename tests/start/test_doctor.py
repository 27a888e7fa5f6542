from pathlib import Path

import pytest

from agent_tui.cli import main
from tests.conversation.test_order_of_rounds import TOOL
from tests.support.core_world import config_folder, configure


def test_doctor_lists_own_tools_and_skills_and_why_others_failed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    configure('[tools]\ndisable = ["note"]\n')
    tools = config_folder() / "tools"
    tools.mkdir()
    (tools / "note.py").write_text(TOOL)
    (tools / "broken.py").write_text("import nothing_of_this_name\n")
    project = workspace / ".agent-tui/tools"
    project.mkdir(parents=True)
    (project / "theirs.py").write_text("raise SystemExit\n")
    for name, text in (
        ("tidy", "---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n"),
        ("bad", "no front matter\n"),
    ):
        folder = config_folder() / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)

    main(["doctor"])

    lines = capsys.readouterr().out.splitlines()
    assert f"ok   tool note: user, {tools}; switched off by [tools] disable" in lines
    assert any(line.startswith("look tool broken: ") and "nothing_of_this_name" in line for line in lines)
    assert "look project tools: not loaded, the project is not trusted: theirs" in lines
    assert "ok   skills: tidy" in lines
    assert any(line.startswith("look skill: ") and "bad/SKILL.md" in line for line in lines)

import json
import stat
from pathlib import Path

from agent_tui.sessions.prompts import HistoryFile


def test_prompts_are_read_for_all_projects_and_for_one(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('"of an old version"\nnot json\n[1]\n{"text": 5}\n')
    one = HistoryFile(file, redact=lambda text: text.replace("secret", "[...]"), project="/one")
    two = HistoryFile(file, redact=str, project="/two")
    one.append("a secret\nof two lines")
    two.append("b")

    assert one.read() == ["of an old version", "a [...]\nof two lines", "b"]
    assert one.read(here=True) == ["a [...]\nof two lines"]
    assert two.read(here=True) == ["b"]


def test_the_file_is_private_and_one_line_a_prompt(tmp_path: Path) -> None:
    file = tmp_path / "state" / "history.jsonl"
    HistoryFile(file, redact=str, project="/p").append("x\ny")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [json.loads(line) for line in file.read_text().splitlines()] == [{"text": "x\ny", "project": "/p"}]

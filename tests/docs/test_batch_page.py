import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.headless.batch.tasks import Task
from agent_tui.headless.batch.worker import TaskResult
from tests.e2e.conftest import Place
from tests.support.patience import RUN_S

PAGE = (Path(__file__).parents[2] / "docs" / "batch.md").read_text()


@pytest.mark.skipif(shutil.which("jq") is None, reason="the example needs jq")
def test_the_example_runs(tmp_path: Path) -> None:
    place = Place(tmp_path)
    found = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "agent-tui").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agent_tui "$@"\n')
    (programs / "agent-tui").chmod(0o755)

    done = subprocess.run(
        ["bash", "-e", "-c", found[1]],
        cwd=place.project,
        env={**place.env(), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "2 done, 1 pending" in done.stderr
    assert (place.project / "greeting.txt").read_text() == "hello\n"
    lines = (place.project / "tasks.results.jsonl").read_text().splitlines()
    assert {line["id"]: line["status"] for line in map(json.loads, lines)} == {
        "greeting": "done",
        "readme": "done",
        "careful": "pending",
    }
    assert place.run("batch", "tasks.jsonl", "--clean").returncode == 0


def test_every_field_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", PAGE))
    internal = {"denied", "pending_approvals", "stop_reason", "provider", "model", "task_sha256", "commit"}

    assert set(Task.model_fields) <= described
    assert set(TaskResult.model_fields) - internal <= described


def test_every_option_of_the_page_exists(tmp_path: Path) -> None:
    shown = Place(tmp_path).run("batch", "--help").stdout

    for flag in set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", PAGE)) - {"--binary"}:
        assert flag in shown, flag

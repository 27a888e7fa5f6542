import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Place
from tests.support.patience import RUN_S

PAGE = (Path(__file__).parents[2] / "docs" / "headless.md").read_text()


def workflow_text() -> str:
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def parsed() -> Any:
    yaml = pytest.importorskip("yaml", reason="no YAML reader here; the command is run all the same")
    return yaml.safe_load(workflow_text())


def command() -> str:
    """The shell text of the step that runs the agent, without a YAML reader."""
    lines = workflow_text().split("\n")
    at = next(i for i, line in enumerate(lines) if line.strip() == "- name: Review")
    run = next(i for i in range(at, len(lines)) if lines[i].strip() == "run: |")
    indent = len(lines[run]) - len(lines[run].lstrip()) + 2
    body = []
    for line in lines[run + 1 :]:
        if line.strip() and not line.startswith(" " * indent):
            break
        body.append(line[indent:])
    return "\n".join(body)


def test_the_workflow_is_one_and_gives_no_more_than_it_needs() -> None:
    workflow = parsed()

    assert workflow[True] == {"pull_request": None}  # `on` is a truth value in YAML 1.1
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    [job] = workflow["jobs"].values()
    with_key = [step for step in job["steps"] if "ANTHROPIC_API_KEY" in step.get("env", {})]
    assert [step["name"] for step in with_key] == ["Review"]
    assert with_key[0]["run"].rstrip() == command().rstrip()
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])


def test_its_command_runs_and_writes_the_answer(tmp_path: Path) -> None:
    place = Place(tmp_path)
    git = ["git", "-C", str(place.project)]
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "agent-tui").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agent_tui "$@"\n')
    (programs / "agent-tui").chmod(0o755)
    subprocess.run([*git, "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    (place.project / "README.md").write_text("# Sunflower\n\nCounts leaves.\n")
    subprocess.run([*git, "commit", "-qam", "second"], check=True)

    done = subprocess.run(
        ["bash", "-e", "-c", command()],
        cwd=place.project,
        env={**place.env(BASE="main"), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "+Counts leaves." in (place.project / "change.diff").read_text()
    assert (place.project / "review.md").read_text().strip() == done.stdout.strip() != ""


def test_its_agent_cannot_write_whatever_the_change_says(tmp_path: Path) -> None:
    place = Place(tmp_path)
    words = re.findall(r'"([^"]+)"', command().split("--tools", 1)[1])[0]

    done = place.run(
        "-p", "call write {}", "--tools", words, "--permission-mode", "dont-ask", "--provider", "offline"
    )

    assert "There is no tool" in done.stdout + done.stderr or "No tool" in done.stdout + done.stderr

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.e2e.conftest import PROGRAM, Place, Served
from tests.support.fake_servers import Script, Tool, message
from tests.support.patience import RUN_S

Serve = Callable[[Script], AbstractContextManager[Served]]
BIG = "words " * 8000
READ = Tool("r1", "read", {"file_path": "README.md"})
TROUBLE = ("cannot be saved", "could not be", "memory")


def can_mount() -> bool:
    """Whether a name space with a tmpfs of its own can be made here."""
    try:
        done = subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
            capture_output=True,
            timeout=RUN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def on_tmpfs(
    place: Place, script: str, *, size: str, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a shell script with the data folder on a file system of `size`; "$DATA" names it, "$RUN" starts the program."""
    data = place.home / ".local/share/agent-tui"
    data.mkdir(parents=True, exist_ok=True)
    mount = f'mount -t tmpfs -o size={size},mode=700 tmpfs "{data}"'
    run = " ".join(f"'{word}'" for word in PROGRAM)
    return subprocess.run(
        ["unshare", "-rm", "sh", "-ec", f'DATA="{data}"; run() {{ {run} "$@"; }}; {mount}; {script}'],
        cwd=place.project,
        env=place.env(PYTHONDONTWRITEBYTECODE="1", **env),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


def troubles(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(words in line for words in TROUBLE)]


@pytest.mark.skipif(not can_mount(), reason="no user name space with a tmpfs can be made here")
def test_a_full_tmpfs_in_the_middle_of_a_turn_is_one_message_and_work_goes_on_after_room_is_made(
    place: Place, serve: Serve
) -> None:
    calls = [
        message(f"{BIG}{n}", tools=[Tool(f"r{n}", "read", {"file_path": f"src/{n}.py"})]) for n in range(6)
    ]
    script = """
        run -p first --session-id kept
        head -c 100M /dev/zero > "$DATA/filler" 2>/dev/null || true
        run -p go --resume kept 2> "$HOME/during.txt"
        echo "code $?"
        rm "$DATA/filler"
        run sessions verify
        run -p again --resume kept 2> "$HOME/after.txt"
        run sessions export kept --format jsonl -o "$HOME/kept.jsonl"
    """
    with serve([message("First."), *calls, message("Still here."), message("And on.")]) as served:
        done = on_tmpfs(place, script, size="700k", env=served.env)
        history = json.dumps(served.requests[-1]["messages"])

    during = (place.home / "during.txt").read_text()
    assert done.returncode == 0, done.stderr
    for words in ("First.", "Still here.", "code 0", "kept  sound", "And on."):
        assert words in done.stdout
    assert "Traceback" not in done.stderr + during
    said = [line for line in troubles(during) if "cannot be saved" in line]
    assert len(said) == 1, during
    assert "No space left" in said[0]
    assert "a copy is" in during
    assert troubles((place.home / "after.txt").read_text()) == []
    assert "first" in history


@pytest.mark.parametrize("limit", [2_000, 8_192, 60_000])
def test_a_limit_on_files_in_the_middle_of_a_turn_loses_nothing_that_was_said(
    place: Place, serve: Serve, limit: int
) -> None:
    code = (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    elsewhere = place.home / "elsewhere"
    elsewhere.mkdir()
    with serve([message(BIG, tools=[READ]), message("Still here."), message("And on.")]) as served:
        done = subprocess.run(
            [sys.executable, "-c", code, *PROGRAM, "-p", "go", "--session-id", "kept"],
            cwd=place.project,
            env=place.env(PYTHONDONTWRITEBYTECODE="1", **served.env),
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        verified = place.run("sessions", "verify")
        on = place.run("-p", "again", "--continue", **served.env)

    assert "Still here." in done.stdout
    assert "Traceback" not in done.stderr
    assert len([line for line in troubles(done.stderr) if "cannot be saved" in line]) <= 1
    assert "damaged" not in verified.stdout or "cut off" in verified.stdout
    assert (on.returncode, "And on." in on.stdout) == (0, True), on.stderr


def test_a_session_that_could_not_be_saved_is_written_elsewhere_and_can_be_brought_back(
    place: Place, serve: Serve
) -> None:
    data = place.home / ".local/share/agent-tui"
    data.mkdir(parents=True)
    (data / "sessions").write_text("a file where the folder should be")
    with serve([message(BIG, tools=[READ]), message("Still here.")]) as served:
        done = place.run("-p", "go", **served.env)
    (data / "sessions").unlink()
    (copy,) = place.home.glob("agent-tui-session-*.jsonl")
    imported = place.run("sessions", "import", str(copy))
    shown = place.run("sessions", "show", imported.stdout.split()[0])

    assert done.returncode == 0
    assert f"a copy is {copy}" in done.stderr
    assert copy.stat().st_mode & 0o777 == 0o600
    assert (imported.returncode, "Still here." in shown.stdout, BIG[:60] in shown.stdout) == (0, True, True)


def test_ss_09_commands_answer_while_the_place_for_their_output_is_full(place: Place, serve: Serve) -> None:
    if not can_mount():
        pytest.skip("no user name space with a tmpfs can be made here")
    tools: list[Any] = [
        Tool("b1", "bash", {"command": "echo hi; df . | tail -n 1"}),
        Tool("b2", "bash", {"command": "seq 1 400000"}),
    ]
    full = place.home / "tmp"
    full.mkdir()
    script = f"""
        mount -t tmpfs -o size=64k tmpfs '{full}'
        head -c 1M /dev/zero > '{full}/filler' 2>/dev/null || true
        head -c 100M /dev/zero > "$DATA/filler" 2>/dev/null || true
        run -p go --yolo 2> "$HOME/said.txt"
    """
    with serve([message("I run.", tools=tools), message("Done.")]) as served:
        done = on_tmpfs(place, script, size="64k", env={**served.env, "TMPDIR": str(full)})
        results = [
            block
            for one in served.requests[-1]["messages"]
            for block in one["content"]
            if block["type"] == "tool_result"
        ]

    said = (place.home / "said.txt").read_text()
    assert "Done." in done.stdout, done.stderr + said
    texts = [str(result["content"]) for result in results]
    assert "hi" in texts[0]
    assert "400000" in texts[1]
    assert "Traceback" not in said
    assert "No space left" in said + texts[1]

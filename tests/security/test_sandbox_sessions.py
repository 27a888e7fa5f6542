import http.server
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.conftest import Run, World
from tests.support.patience import PATIENCE_S
from tests.support.sandbox_attacks import COMMON_DIR, FSMONITOR, HOOK, REPLACE

pytestmark = pytest.mark.security


def test_h_s1_granted_folder_that_became_a_link_is_refused(strong: Run, world: World) -> None:
    grant = world.root / "sibling/granted"
    grant.symlink_to(world.home)

    (code, text), *_ = strong("echo x > ~/new", write_dirs=[str(grant)])

    assert code != 0
    assert "SandboxError" in text
    assert not (world.home / "new").exists()


def test_h_s2_temporary_folder_of_the_host_is_not_seen(strong: Run, tmp_path: Path) -> None:
    (tmp_path / "canary").touch()

    assert strong(f"test -e {tmp_path}/canary")[0][0] != 0


def test_h_s8_killed_agent_leaves_no_process(world: World, strong_as: tuple[str, int]) -> None:
    backend, uid = strong_as
    mark = f"4{os.getpid()}.{time.monotonic_ns()}"
    text = f"setsid sleep {mark} & (sleep {mark} &) ; sleep {mark}"
    agent = subprocess.Popen(world.driver(uid=uid), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(world.order(backend, [], wait=text) + "\n")
    agent.stdin.flush()
    assert agent.stdout.readline() == "started\n"
    assert survivors(mark, until=3), "the command runs"

    agent.send_signal(signal.SIGKILL)
    agent.communicate()

    assert survivors(mark, until=0) == 0


def survivors(mark: str, *, until: int) -> int:
    """Wait until `until` processes carry the mark (0: none at all) and give their number."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = subprocess.run(
            ["pgrep", "-fc", f"^sleep {mark}"], capture_output=True, text=True, check=False
        )
        count = int(found.stdout)
        if (count >= until if until else count == 0) or time.monotonic() > deadline:
            return count
        time.sleep(0.02)


def test_h_s11_command_that_ends_takes_no_protection_from_another(
    world: World, strong_as: tuple[str, int]
) -> None:
    backend, uid = strong_as
    second = f"sleep 1; {HOOK}; {FSMONITOR}; {REPLACE}; {COMMON_DIR}; touch .agent-tui/x"
    (world.workspace / ".agent-tui").mkdir()

    world.answer(backend, [{"text": "true"}, {"text": second}, {"text": HOOK}], uid=uid, parallel=True)

    config = (world.workspace / ".git/config").read_text()
    assert not (world.workspace / ".git/hooks/pre-commit").exists()
    assert "fsmonitor" not in config
    assert list((world.workspace / ".agent-tui").iterdir()) == []


def test_h_s13_git_directory_has_no_stub_after_the_session(strong: Run, world: World) -> None:
    before = sorted(path.name for path in (world.workspace / ".git").iterdir())

    strong("true")

    assert sorted(path.name for path in (world.workspace / ".git").iterdir()) == before


def test_workspace_below_a_hidden_temporary_folder_is_still_seen(
    world: World, strong_as: tuple[str, int], tmp_path: Path
) -> None:
    backend, uid = strong_as
    place = Path("/var/tmp") / f"agent-tui-{os.getpid()}"
    shutil.copytree(world.workspace, place, symlinks=True)
    subprocess.run(["chown", "-R", f"{uid}:{uid}", str(place)], check=True)
    items: list[dict[str, object]] = [
        {"text": "cat file.txt", "profile": name} for name in ("read-only", "workspace")
    ]

    try:
        _, results = world.answer(backend, items, uid=uid, workspace=str(place))
    finally:
        shutil.rmtree(place)

    assert results == [(0, "text\n"), (0, "text\n")]


@pytest.fixture
def web(world: World) -> Iterator[tuple[int, list[str]]]:
    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(f"{self.headers['Host']} {self.path}")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"served")

        def log_message(self, format: str, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server.server_address[1], hits
    server.shutdown()
    server.server_close()
    thread.join()


def test_granted_host_is_reached_and_nothing_else(
    world: World, strong_as: tuple[str, int], web: tuple[int, list[str]]
) -> None:
    backend, uid = strong_as
    port, hits = web
    get = f"{world.python} -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=10).read())'"
    texts = [
        f"{get} http://good.example:{port}/granted",
        f"{get} http://evil.example:{port}/other",
        f"{get} http://127.0.0.1:{port}/literal",
        f"no_proxy='*' {get} http://127.0.0.1:{port}/direct",
        f"echo x > /dev/tcp/127.0.0.1/{port}",
        "grep CANARY .env",
    ]
    items: list[dict[str, object]] = [{"text": text, "hosts": ["good.example"]} for text in texts]
    names = {"good.example": ["127.0.0.1"], "evil.example": ["127.0.0.1"]}

    _, results = world.answer(
        backend, [*items, {"text": texts[0]}, {"text": texts[-1]}], uid=uid, names=names, ports=[port]
    )

    assert results[0] == (0, "b'served'\n"), results[0]
    assert all(code != 0 for code, _ in results[1:7]), results
    assert results[7][0] == 0, "without a network the file is there"
    assert hits == [f"good.example:{port} /granted"]


def test_own_folder_of_the_program_cannot_be_granted(strong: Run, world: World) -> None:
    (code, text), *_ = strong("true", write_dirs=[str(world.own)])

    assert code != 0
    assert "belongs to agent-tui" in text

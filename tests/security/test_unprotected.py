"""Attacks shown to succeed where nothing stands against them, so that the tests beside prove something."""

import http.server
import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from tests.security.conftest import World, shell_until

pytestmark = pytest.mark.security

Run = Callable[..., list[tuple[int, str]]]


def test_h_s6_listeners_are_reached_without_protection(bare: Run, world: World) -> None:
    serve = (
        "import socket, sys\n"
        "tcp, unix, named = socket.create_server(('127.0.0.1', 8766)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)\n"
        "unix.bind('\\0agent-tui-bare'); named.bind('s')\n"
        "[one.listen() for one in (unix, named)]\n"
        "print('ready', flush=True)\n"
        "[one.accept() for one in (tcp, unix, named)]\n"
        "print('three hits')\n"
    )
    (world.workspace / "serve.py").write_text(serve)
    connect = (
        f"{world.python} -c 'import socket; [socket.socket(family).connect(place) for family, place in "
        '((socket.AF_INET, ("127.0.0.1", 8766)), (socket.AF_UNIX, "\\0agent-tui-bare"), (socket.AF_UNIX, "s"))]\''
    )
    up = f'{world.python} -c \'import fcntl, socket, struct; s = socket.socket(); fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))\''

    (code, text), *_ = bare(
        f"{up} || true; {world.python} serve.py > said & "
        f"{shell_until('grep -qs ready said')}; {connect}; wait; cat said"
    )

    assert (code, text) == (0, "ready\nthree hits\n")


def test_h_s8_a_daemon_outlives_its_command_without_protection(bare: Run) -> None:
    mark = f"5{os.getpid()}.5"

    alive = f"pgrep -fc '^sleep {mark}'"
    begin = f"setsid sleep {mark} > /dev/null 2>&1 & disown; {shell_until(f'{alive} > /dev/null')}"

    _, (code, text) = bare(begin, alive)

    assert (code, text) == (0, "1\n")


def test_h_s8_the_agent_can_be_ended_without_protection(world: World, bare: Run) -> None:
    with pytest.raises(AssertionError):  # the driver itself is gone before it answers
        bare("kill -9 $AGENT_PID")


def test_h_s12_set_id_bits_can_be_set_without_protection(bare: Run, world: World) -> None:
    assert bare("chmod 4755 file.txt")[0][0] == 0
    assert (world.workspace / "file.txt").stat().st_mode & 0o4000


def naive_write(root: Path, name: str, between: Callable[[], None] = lambda: None) -> None:
    """Check the real path, then open by name: what most programs do."""
    if (root / name).resolve().is_relative_to(root):
        between()
        (root / name).write_text("secret")


def test_h_f2_a_check_before_opening_lets_a_flip_out(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "real").mkdir()

    def flip() -> None:
        (workspace / "real").rename(workspace / "spare")
        (workspace / "real").symlink_to(outside)

    naive_write(workspace, "real/x.txt", flip)

    assert (outside / "x.txt").read_text() == "secret"


@pytest.mark.parametrize("name", ["../x", "ln/x", "lnf", "real/../../x"])
def test_h_f1_a_plain_open_leads_out(name: str, workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "real").mkdir()
    (workspace / "ln").symlink_to(outside)
    (workspace / "lnf").symlink_to(outside / "f")

    (workspace / name).write_text("x")

    assert not (workspace / name).resolve().is_relative_to(workspace)


def test_h_f5_a_plain_copy_onto_a_link_changes_the_settings(workspace: Path, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("mine")
    (workspace / "link").symlink_to(settings)
    (workspace / "video.mp4").write_text("theirs")

    subprocess.run(["cp", "video.mp4", "link"], cwd=workspace, check=True)

    assert settings.read_text() == "theirs"


def test_h_p6_a_plain_child_sees_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789abcdef")

    assert "sk-canary" in subprocess.run(["env"], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def canary() -> Iterator[tuple[int, list[str]]]:
    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server.server_address[1], hits
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1"])
def test_h_p4_a_plain_client_fetches_near_addresses(canary: tuple[int, list[str]], host: str) -> None:
    port, hits = canary

    with httpx.Client(trust_env=False) as client:
        client.get(f"http://{host}:{port}/x")

    assert hits == ["/x"]


SEQUENCES = ("\x1b]52;c;ZXZpbA==\x1b\\", "\x1b]0;title\x1b\\", "\x1b[2J", "\x1b[6n", "\x9b31m", "\x1b[?2004l")
PLAIN_APP = """
import sys
from textual.app import App, ComposeResult
from textual.widgets import Static
from rich.text import Text
class Plain(App):
    def compose(self) -> ComposeResult:
        yield Static(Text(sys.argv[1]))
    def on_ready(self) -> None:
        self.set_timer(0.2, self.exit)
Plain().run()
"""


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_h_t1_a_plain_app_passes_sequences_on(sequence: str) -> None:
    written = in_terminal([sys.executable, "-c", PLAIN_APP, f"{sequence}TEXT"])

    assert b"TEXT" in written
    assert f"{sequence}TEXT".encode() in written


def in_terminal(argv: Sequence[str]) -> bytes:
    """Run a program in a terminal of its own and give all that it wrote there."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve(argv[0], list(argv), {**os.environ, "TERM": "xterm-256color"})
    written = b""
    try:
        while chunk := os.read(master, 1 << 16):
            written += chunk
    except OSError:
        pass  # the end of a terminal
    os.waitpid(pid, 0)
    os.close(master)
    return written


def test_h_d1_a_plain_append_glues_to_a_torn_tail(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(json.dumps({"n": 1}) + "\n" + '{"n": 2, "text": "cut he')
    with log.open("a") as file:
        file.write(json.dumps({"n": 3}) + "\n")

    first, *rest = log.read_text().splitlines()

    assert json.loads(first) == {"n": 1}
    assert '{"n": 3}' in rest[0]
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(rest[0])

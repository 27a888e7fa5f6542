import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pyte
import pytest

from tests.e2e.conftest import PROGRAM, Place
from tests.support.patience import PATIENCE_S

SIZE = "width=100&height=30"


class Served:
    """`agent-tui serve` in a process of its own."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", *arguments],
            cwd=place.project,
            env=place.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first.startswith("Open http://127.0.0.1:"), first
        self.url = first.split()[1]
        self.base = self.url.rsplit("/", 2)[0]
        self.origin = {"Origin": self.base}

    def end(self) -> str:
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return out


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    server = Served(place)
    yield server
    if server.process.poll() is None:
        server.end()


class Page:
    """What a browser's terminal shows of the program behind a socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    async def type(self, text: str) -> None:
        await self._socket.send_json(["stdin", text])

    async def until(self, told: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while told not in self.text:
                message = await self._socket.receive()
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), (
                    f"{message}\n{self.text}"
                )
                if message.type is aiohttp.WSMsgType.BINARY:
                    self._stream.feed(message.data)


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def test_the_program_runs_in_a_page_and_ends_with_it(served: Served, place: Place) -> None:
    async with aiohttp.ClientSession() as client:
        async with client.ws_connect(f"{served.url}ws?{SIZE}", headers=served.origin) as socket:
            page = Page(socket)
            await page.until("offline")
            await page.type("explain this project")
            await page.until("› explain this project")
            await page.type("\r")
            await page.until("Sunflower")
            assert children(served.process.pid)
        async with asyncio.timeout(PATIENCE_S):
            while children(served.process.pid):
                await asyncio.sleep(0.05)

    assert list((place.home / ".local/share/agent-tui/sessions").rglob("*.jsonl"))


async def test_nothing_of_the_folder_is_imported_by_a_page(served: Served, place: Place) -> None:
    for name in ("click", "textual", "pydantic"):
        (place.project / f"{name}.py").write_text("open('ran', 'w').close()\n")
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{served.url}ws?{SIZE}", headers=served.origin) as socket,
    ):
        await Page(socket).until("offline")

    assert not (place.project / "ran").exists()


async def test_the_page_is_given_only_for_the_whole_address(served: Served) -> None:
    async with aiohttp.ClientSession() as client:
        async with client.get(served.url) as page:
            text = await page.text()
            assert page.status == 200
            assert page.headers["Referrer-Policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
        token = served.url.rsplit("/", 2)[1]
        assert f'data-session-websocket-url="ws://{served.base[7:]}/{token}/ws"' in text
        async with client.get(f"{served.url}static/js/textual.js") as script:
            assert script.status == 200
        for path in ("/", "/ws", "/static/js/textual.js", "/wrong/", f"/{token[:-1]}/"):
            async with client.get(served.base + path) as refused:
                assert refused.status == 403, path
                assert token not in await refused.text()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {},
    ],
)
async def test_a_socket_of_another_page_is_refused(served: Served, headers: dict[str, str]) -> None:
    async with aiohttp.ClientSession() as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(f"{served.url}ws?{SIZE}", headers=headers)

    assert refused.value.status == 403
    assert not children(served.process.pid)


async def test_ending_the_server_ends_the_programs_of_its_pages(served: Served) -> None:
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{served.url}ws?{SIZE}", headers=served.origin) as socket,
    ):
        page = Page(socket)
        await page.until("offline")
        (child,) = children(served.process.pid)
        out = await asyncio.to_thread(served.end)

    assert served.process.returncode == 0
    assert "Traceback" not in out
    assert not Path(f"/proc/{child}").exists()


def test_flags_after_two_dashes_are_those_of_the_program(place: Place) -> None:
    served = Served(place, "--", "--plan", "--theme", "light")
    command = Path(f"/proc/{served.process.pid}/cmdline").read_text().split("\0")

    assert "--plan" in command
    served.end()


def test_a_port_that_is_taken_is_one_sentence(served: Served, place: Place) -> None:
    port = served.base.rsplit(":", 1)[1]
    done = place.run("serve", "--port", port)

    assert done.returncode == 2
    assert (
        done.stderr
        == f"agent-tui: port {port} cannot be used: Address already in use; choose another with --port\n"
    )


def test_without_the_extra_serve_says_what_to_install(place: Place, tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "textual_serve.py").write_text(
        "raise ModuleNotFoundError('no', name='textual_serve')\n"
    )
    done = place.run("serve", PYTHONPATH=str(tmp_path / "without"))

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install textual-serve" in done.stderr


def test_the_agent_cannot_serve_the_program(place: Place) -> None:
    done = place.run("serve", AGENT_TUI_CHILD="1")

    assert done.returncode == 2
    assert "by a person" in done.stderr

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import corpus
from tests.bench.cases import Figure, at_most, median, percentile, type_letters
from tests.bench.loopback import Streams
from tests.bench.terminal import Child

READY = b"ask"
LAST = "\u03a9end"
"""The last token of a served reply, seen nowhere else on screen."""


def served(count: int) -> list[str]:
    return [*corpus.tokens(count - 1), LAST]


@contextmanager
def program(url: str = "", home: str = "") -> Iterator[Child]:
    """The program as a person starts it, in a home and a project of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(home or folder)
        project = place / "project"
        project.mkdir(exist_ok=True)
        env = {"HOME": str(place), "PYTHONPATH": os.getcwd(), "XDG_RUNTIME_DIR": ""}
        env |= (
            {"ANTHROPIC_API_KEY": "sk-bench", "ANTHROPIC_BASE_URL": url} if url else {"ANTHROPIC_API_KEY": ""}
        )
        with Child(
            program=[sys.executable, "-m", "agent_tui"], environment={**os.environ, **env}, cwd=project
        ) as child:
            yield child


def keys(runs: int = 9) -> Iterator[Figure]:
    """From exec to the echo of a key that waited for the program; then to the frame of the program itself."""
    echoes, shown = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as home:
        for number in range(runs + 1):
            with program(home=home) as child:
                child.write("ж".encode())
                child.until_shown(b"\x1b[2J")  # what the terminal itself echoed before is not meant
                child.output = child.output.partition(b"\x1b[2J")[2]
                echoed = child.until_shown("ж".encode())
                full = child.until_shown(READY)
                if number:  # the first start has no look to draw
                    echoes.append(echoed * 1000)
                    shown.append(full * 1000)
    yield at_most("exec to an echoed key, best", min(echoes), 50.0, "ms")
    yield Figure("exec to an echoed key, median", f"{median(echoes):.0f} ms", "")
    yield Figure("exec to the program's first frame, best", f"{min(shown):.0f} ms", "")


def untouched(runs: int = 3) -> Iterator[Figure]:
    """A start that nobody types into, with a provider whose SDK is not needed yet."""
    cpu, rss = list[float](), list[float]()
    with Streams(lambda _: served(10)) as server, tempfile.TemporaryDirectory() as home:
        for _ in range(runs + 1):
            with program(server.url, home) as child:
                child.until_shown(READY)
                cpu.append(_at_rest(child))
                rss.append(child.rss_mib())
    first, *usual = cpu
    yield Figure("the very first start, which greets: CPU until it is idle", f"{first:.2f} s", "")
    yield at_most("a start without typing: CPU until it is idle", min(usual), 0.5, "s", 2)
    yield at_most("RSS at start, SDK not loaded", min(rss[1:]), 60.0, "MiB")


def loading(keys: int = 75) -> Iterator[Figure]:
    """Keys while the SDK is imported in a thread, which the first one begins."""
    with Streams(lambda _: served(10)) as server, program(server.url) as child:
        child.until_shown(READY)
        cpu = _at_rest(child)
        before = child.rss_mib()
        times = type_letters(child, keys, 0.02)
        spent = child.cpu_s() - cpu
        child.quiet(1.0, at_most=10.0)
        grown = child.rss_mib() - before
    yield at_most("key echo while the SDK is loaded, p95", percentile(times, 0.95), 20.0, "ms")
    yield Figure("loading the SDK: CPU while keys are typed, memory", f"{spent:.2f} s, {grown:.0f} MiB", "")


def flood(count: int = 20_000, runs: int = 3) -> Iterator[Figure]:
    """A reply that comes all at once through the SDK, from Enter to its last token on screen."""
    wall, cpu, echoes = list[float](), list[float](), list[float]()
    for number in range(runs * 2):
        with Streams(lambda _: served(count)) as server, program(server.url) as child:
            _load_sdk(child)
            began, spent = time.perf_counter(), child.cpu_s()
            child.write(b"\r")
            if number % 2:
                while not server.began_s:
                    child.pump(0.005)
                echoes += type_letters(child, 8, 0.02)
                continue
            child.until_shown(LAST.encode())
            wall.append(time.perf_counter() - began)
            cpu.append(child.cpu_s() - spent)
    name = f"{count:,} tokens flat out through the SDK"
    yield at_most(f"{name}: CPU", min(cpu), 1.0, "s", 2)
    yield at_most(f"{name}: end visible", min(wall), 0.8, "s", 2)
    yield at_most(f"{name}: key echo p95", percentile(echoes, 0.95), 50.0, "ms")


def replies(turns: int = 10, count: int = 20_000) -> Iterator[Figure]:
    """Memory after replies through the SDK."""
    with Streams(lambda _: served(count)) as server, program(server.url) as child:
        _load_sdk(child)
        for turn in range(turns):
            child.output = b""
            child.write(b"\r" if turn == 0 else b"again\r")
            child.until_shown(LAST.encode())
            child.quiet(0.4)
        child.quiet(2.5)
        yield at_most(
            f"RSS after {turns} replies of {count:,} tokens through the SDK", child.rss_mib(), 140.0, "MiB"
        )


def _load_sdk(child: Child) -> None:
    """Write a prompt and wait until what it made the program load is there."""
    child.until_shown(READY)
    _at_rest(child)
    child.write(b"go")
    _at_rest(child)


def _at_rest(child: Child) -> float:
    """Wait until the program computes no more, however slow the machine; gives the seconds of CPU spent so far."""
    before = child.cpu_s()
    while True:
        child.quiet(1.0, at_most=1.0)
        now = child.cpu_s()
        if now - before < 0.01:
            return now
        before = now


REAL: dict[str, Callable[[], Iterator[Figure]]] = {
    "keys": keys,
    "untouched": untouched,
    "loading": loading,
    "sdk": flood,
    "replies": replies,
}

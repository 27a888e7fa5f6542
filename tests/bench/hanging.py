import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.cases import LETTERS, Figure, at_most, median, percentile
from tests.bench.terminal import Child

HANGING = {
    "sleep": "echo began; sleep 1000",
    "cat without input": "echo began; cat; sleep 1000",
    "a fifo": "mkfifo pipe; echo began; cat pipe",
    "a busy loop": "echo began; yes > /dev/null",
    "a flood of output": "echo began; yes 0123456789",
    "a flood of long lines": "echo began; yes 0123456789 | tr -d '\\n'",
}


def hanging() -> Iterator[Figure]:
    for name, command in HANGING.items():
        home = Path(tempfile.mkdtemp(prefix="agent-tui-bench-"))
        try:
            times = _echo_while(command, home)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        yield Figure(f"key echo while {name} runs, p50", f"{median(times):.1f} ms", "")
        yield at_most(f"key echo while {name} runs, p95", percentile(times, 0.95), 50.0, "ms")


def _echo_while(command: str, home: Path) -> list[float]:
    project = home / "project"
    project.mkdir()
    prompt = f"call bash {json.dumps({'command': command})}"
    program = [sys.executable, "-m", "agent_tui", "--provider", "offline", "--allowed-tools", "Bash", prompt]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    times: list[float] = []
    with Child(program=program, environment=environment, cwd=project) as child:
        stop = time.perf_counter() + 60
        while not _shows(child, "began") and time.perf_counter() < stop:
            child.pump(0.2)
        for letter in LETTERS[:60]:
            times.append(child.echo_ms(letter))
            resume = time.perf_counter() + 0.05
            while (left := resume - time.perf_counter()) > 0:
                child.pump(left)
    return times


def _shows(child: Child, word: str) -> bool:
    return f"{word}\x1b".encode() in child.output or f"{word} ".encode() in child.output

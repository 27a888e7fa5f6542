import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Place, Served
from tests.support.fake_servers import Answer, Recorded, Script, Tool, message
from tests.support.patience import RUN_S, until_now
from tests.support.wire_rules import refusals

ROUNDS = int(os.environ.get("AGENT_TUI_TEST_KILL_ROUNDS", "12"))
ROUNDS_A_SESSION = 20
CALLS_A_TURN = 12
CALLS_UNTIL_KILLED = 60  # more than there is time for, and fewer than a turn may have


class Model:
    """Asks for tools without end; what it was sent is checked as a strict server would."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.sent: list[list[Any]] = []
        self.number = 0
        self.calls_a_turn = CALLS_A_TURN

    def __call__(self, request: Recorded) -> Answer:
        messages = request.json["messages"]
        self.refused += refusals(messages)
        self.sent.append(blocks_of(messages))
        self.number += 1
        if self.number % self.calls_a_turn == 0:
            return message(f"Done {self.number}.")
        n = self.number
        tools = [
            Tool(f"w{n}", "write", {"file_path": f"f{n % 5}.txt", "content": f"{n}\n" * 50}),
            Tool(f"r{n}", "read", {"file_path": "README.md"}),
            Tool(f"b{n}", "bash", {"command": f"echo {n} >> log.txt; mv f{n % 5}.txt g{n % 3}.txt"}),
        ]
        return message(f"Step {n}.", tools=tools[: 1 + n % 3])


def blocks_of(messages: list[dict[str, Any]]) -> list[Any]:
    found: list[Any] = []
    for one in messages:
        content = one["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [
            {"role": one["role"], **{k: v for k, v in p.items() if k != "cache_control"}} for p in parts
        ]
    return found


class Zygote:
    def __init__(self, place: Place, env: dict[str, str]) -> None:
        self._place, self._env = place, place.env(**env)
        self.out, self.err = place.home / "out.jsonl", place.home / "err.txt"
        root = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**self._env, "PYTHONPATH": root},
        )

    def warm_up(self) -> None:
        assert self.start("-p", "warm up", "--ephemeral", "--yolo") == 0, self.err.read_text()

    def start(self, *argv: str) -> int:
        """Give the pid of a run; the first one is not forked and gives its exit code."""
        order = {
            "argv": argv,
            "cwd": str(self._place.project),
            "env": self._env,
            "stdout": str(self.out),
            "stderr": str(self.err),
        }
        return self._ask(json.dumps(order))

    def ended(self) -> int:
        return self._ask("")

    def _ask(self, line: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=RUN_S)


@contextmanager
def zygote(place: Place, env: dict[str, str]) -> Iterator[Zygote]:
    made = Zygote(place, env)
    try:
        yield made
    finally:
        made.close()


def stored(place: Place, session_id: str) -> list[dict[str, Any]]:
    (file,) = (place.home / ".local/share/agent-tui/sessions").glob(f"*/{session_id}.jsonl")
    found: list[dict[str, Any]] = []
    for line in file.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line[9:]))
        except ValueError:
            continue
    return found


def told(out: Path) -> set[str]:
    """The calls whose end the program has told to whoever reads its output."""
    calls: set[str] = set()
    for line in out.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("type") in ("tool_finished", "tool_denied"):
            calls.add(event["call_id"])
    return calls


def test_h_d1_kill_9_at_random_loses_nothing_acknowledged_and_resume_always_works(
    place: Place, serve: Callable[[Script], AbstractContextManager[Served]]
) -> None:
    rng, model = random.Random(ROUNDS), Model()
    killed = resumed = 0
    session_id, acknowledged = "", list[Any]()
    with serve(model) as served, zygote(place, served.env) as program:
        program.warm_up()
        for number in range(ROUNDS):
            if number % ROUNDS_A_SESSION == 0:
                session_id, acknowledged = f"killed-{number}", []
            there = list((place.home / ".local/share/agent-tui/sessions").glob(f"*/{session_id}.jsonl"))
            which = ["--resume", session_id] if there else ["--session-id", session_id]
            model.sent.clear()
            last = number % ROUNDS_A_SESSION == ROUNDS_A_SESSION - 1 or number == ROUNDS - 1
            model.calls_a_turn = CALLS_A_TURN if last else CALLS_UNTIL_KILLED
            pid = program.start("-p", f"go on {number}", "--yolo", "--output-format", "stream-json", *which)
            if not last:
                if rng.random() < 0.75:
                    until_now(lambda: model.sent)
                time.sleep(rng.random() ** 2 * 1.5)
                os.kill(pid, signal.SIGKILL)
            code = program.ended()
            killed += code == -signal.SIGKILL
            assert code in (0, -signal.SIGKILL), program.err.read_text()
            if acknowledged and model.sent:
                resumed += 1
                assert model.sent[0][: len(acknowledged)] == acknowledged
            acknowledged = model.sent[-1] if model.sent else acknowledged
            if acknowledged:
                records = stored(place, session_id)
                outcomes = {r["outcome"]["tool_use_id"] for r in records if r.get("type") == "outcome"}
                assert told(program.out) - outcomes == set()
                assert model.refused == []
    verified = place.run("sessions", "verify")

    assert killed > ROUNDS // 3
    assert resumed > ROUNDS // 3
    damage = [line.strip() for line in verified.stdout.splitlines() if line.startswith("    ")]
    assert [line for line in damage if "cut off" not in line and "checksum" not in line] == []

"""A repository, its tasks and the program that runs them."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.conftest import PROGRAM, Place

EDITS = ("--provider", "offline", "--permission-mode", "accept-edits")
COMPARED = (
    "status",
    "exit_code",
    "result",
    "error",
    "stop_reason",
    "files",
    "diff",
    "denied",
    "commit",
    "usage",
)


class Batch:
    """Tasks beside the repository of a place; the results beside the tasks."""

    def __init__(self, place: Place, tasks: Sequence[Mapping[str, Any]], name: str = "tasks") -> None:
        self.place = place
        self.file = place.project.parent / f"{name}.jsonl"
        self.file.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
        self.output = self.file.with_suffix(".results.jsonl")
        self.before = self.state()

    def command(self, *arguments: str) -> list[str]:
        return [*PROGRAM, "batch", str(self.file), "-C", str(self.place.project), *arguments]

    def run(self, *arguments: str, timeout_s: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.place.env(**env),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def lines(self) -> list[dict[str, Any]]:
        if not self.output.exists():
            return []
        return [json.loads(line) for line in self.output.read_text().split("\n")[:-1]]

    def results(self) -> dict[str, dict[str, Any]]:
        return {line["id"]: line for line in self.lines()}

    def compared(self) -> dict[str, dict[str, Any]]:
        """What does not depend on when and where a task ran."""
        return {name: {key: one[key] for key in COMPARED} for name, one in self.results().items()}

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.place.project), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    def state(self) -> tuple[str, ...]:
        """What a batch must leave as it is: branch, index, files, objects, worktrees."""
        index = (self.place.project / ".git/index").read_bytes().hex()
        objects = self.git("count-objects", "-v").split("packs")[0]
        asked = (("branch", "--all"), ("status", "--porcelain"), ("rev-parse", "HEAD"), ("worktree", "list"))
        return (index, objects, *(self.git("--no-optional-locks", *one) for one in asked))

    def unchanged(self) -> bool:
        return self.state() == self.before


def create(count: int) -> list[dict[str, str]]:
    return [{"id": f"t{n}", "prompt": f"create made/f{n}.txt with number {n}"} for n in range(count)]

"""Shows how a batch goes: a live table on a terminal, else a line per task that ended."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agent_tui.headless.batch.worker import TaskResult
from agent_tui.toolkit.terminal_text import strip_sequences

_STYLES = {"done": "green", "running": "cyan", "pending": "yellow", "denied": "yellow", "waiting": "dim"}
_MARGIN_LINES = 6


@dataclass
class _Line:
    """One task. `began` is a monotonic time, 0 before it ran."""

    task_id: str
    state: str = "waiting"
    began: float = 0.0
    took_s: float = 0.0
    tokens: int = 0
    cost_usd: float | None = None
    files: int = 0
    note: str = ""


class Progress:
    """Use it as a context. `known` are the results that stand already."""

    def __init__(self, ids: Sequence[str], known: Sequence[TaskResult], *, err: TextIO, quiet: bool) -> None:
        self._lines = {task_id: _Line(task_id) for task_id in ids}
        self._err = err
        self._quiet = quiet
        self._console = Console(file=err, highlight=False)
        self._live: Live | None = None
        for result in known:
            self._take(result)

    def __enter__(self) -> "Progress":
        if not self._quiet and self._console.is_terminal:
            self._live = Live(
                get_renderable=self._table, console=self._console, refresh_per_second=4, transient=False
            )
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def is_live(self) -> bool:
        """Whether a table stands on a terminal."""
        return self._live is not None

    def started(self, task_id: str) -> None:
        """A task was given away."""
        line = self._lines[task_id]
        line.state, line.began = "running", time.monotonic()

    def finished(self, result: TaskResult) -> None:
        """A task ended."""
        self._take(result)
        if self._live is None and not self._quiet:
            with suppress(OSError):  # progress that nobody can read must not cost the results
                self._err.write(f"{_sentence(self._lines[result.id])}\n")
                self._err.flush()

    def summary(self) -> str:
        """Count the tasks by how they are."""
        counts: dict[str, int] = {}
        for line in self._lines.values():
            counts[line.state] = counts.get(line.state, 0) + 1
        costs = [line.cost_usd for line in self._lines.values() if line.cost_usd]
        spent = f", ${sum(costs):.4f}" if costs else ""
        return f"{', '.join(f'{count} {state}' for state, count in sorted(counts.items()))}{spent}"

    def _take(self, result: TaskResult) -> None:
        line = self._lines[result.id]
        line.state, line.took_s, line.files = result.status, result.duration_s, len(result.files)
        line.tokens, line.cost_usd = sum(result.usage.values()), result.cost_usd
        line.note = " ".join(strip_sequences(result.error or result.result).split())

    def _table(self) -> Table:
        """Show what runs and what ended last; what does not fit is counted."""
        table = Table(box=None, pad_edge=False, expand=True)
        for name in ("task", "state", "time", "tokens", "files"):
            table.add_column(name, no_wrap=True, justify="left" if name in ("task", "state") else "right")
        table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
        room = max(3, self._console.height - _MARGIN_LINES)
        lines = list(self._lines.values())
        running = [line for line in lines if line.state == "running"]
        ended = [line for line in lines if line.state not in ("running", "waiting")]
        kept = room - min(len(running), room)
        for line in [*(ended[-kept:] if kept else []), *running[:room]]:
            took = time.monotonic() - line.began if line.state == "running" else line.took_s
            table.add_row(
                line.task_id,
                Text(line.state, style=_STYLES.get(line.state, "red")),
                f"{took:.1f} s",
                f"{line.tokens:,}",
                str(line.files) if line.state != "running" else "",
                Text(line.note, style="dim"),
            )
        table.caption = self.summary()
        table.caption_justify = "left"
        return table


def _sentence(line: _Line) -> str:
    files = f"{line.files} file{'' if line.files == 1 else 's'}"
    note = f" - {line.note[:200]}" if line.note else ""
    return f"{line.task_id}: {line.state} in {line.took_s:.1f} s, {files}{note}"

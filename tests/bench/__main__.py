import compileall
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.approvals import approvals
from tests.bench.cases import CASES, LONG_CASES, Figure
from tests.bench.checkpoints import checkpoints
from tests.bench.files import file_tools
from tests.bench.hanging import hanging
from tests.bench.real import REAL
from tests.bench.sandboxed import sandboxed
from tests.bench.searches import searches
from tests.bench.sessions import sessions
from tests.bench.turns import turns

ALL: dict[str, Callable[[], Iterator[Figure]]] = {
    **CASES,
    **REAL,
    "approvals": approvals,
    "files": file_tools,
    "checkpoints": checkpoints,
    "searches": searches,
    "sessions": sessions,
    "sandbox": sandboxed,
    "hanging": hanging,
    "turns": turns,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark named {unknown[0]!r}; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    for folder in ("agent_tui", "tools", "tests"):  # as an installer does: it is no part of a start
        compileall.compile_dir(Path(folder), quiet=1)
    print(f"{'figure':58} {'value':>34}  {'goal':16}")
    for name in names or [name for name in ALL if name not in LONG_CASES]:
        for figure in ALL[name]():
            mark = {True: "met", False: "MISSED", None: ""}[figure.is_met]
            print(f"{figure.name:58} {figure.value:>34}  {figure.goal:16} {mark}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

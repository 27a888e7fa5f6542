import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.sandbox.bwrap import BwrapSandbox
from agent_tui.sandbox.interface import Confinement, Strength
from agent_tui.sandbox.late import LateSandbox
from agent_tui.sandbox.probe import bwrap_refused
from tests.bench.sandboxed import sandboxed
from tests.security.conftest import shell_until
from tests.support.patience import until
from tests.support.tool_world import ToolWorld, gone, make_world, processes_with

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(bool(bwrap_refused()), reason=f"bubblewrap: {bwrap_refused()}"),
]


@pytest.fixture
def world() -> Iterator[ToolWorld]:
    base = next(path for path in ("/opt", "/srv", ".") if os.access(path, os.W_OK))
    root = Path(tempfile.mkdtemp(prefix="agent-tui-test-", dir=base)).resolve()
    for name in ("proj", "home", "tmp"):
        (root / name).mkdir()
    sandbox = LateSandbox(lambda: BwrapSandbox(root / "proj", home=root / "home", temp=root / "tmp"))
    made = make_world(root / "proj")
    made.ctx.sandbox = sandbox
    yield made
    sandbox.close()
    shutil.rmtree(root)


async def test_the_late_sandbox_confines_what_the_tool_runs(world: ToolWorld) -> None:
    result = await world.bash("echo x > ../out; echo x > in; echo done")

    assert "Read-only file system" in result.output
    assert ((world.root / "in").exists(), (world.root / "../out").exists()) == (True, False)
    assert world.ctx.sandbox.strength is Strength.STRONG


async def test_h_s8_cancelled_command_leaves_no_process(world: ToolWorld) -> None:
    mark = f"5{os.getpid()}.{time.monotonic_ns()}"
    text = f"setsid sleep {mark} & (trap '' TERM; exec sleep {mark}) & sleep {mark}"
    async with asyncio.TaskGroup() as group:
        call = group.create_task(world.bash(text))
        await until(lambda: len(processes_with(f"sleep\0{mark}")) == 3)

        call.cancel()

    assert await gone(mark)


async def test_server_in_a_job_answers_the_next_command(world: ToolWorld) -> None:
    (world.root / "page").write_text("served by a job")
    await world.bash("exec /usr/bin/python3 -m http.server 8711 --bind 127.0.0.1", run_in_background=True)
    fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8711/page').read().decode())"
    wait = shell_until("(echo > /dev/tcp/127.0.0.1/8711) 2>/dev/null")

    result = await world.bash(f'{wait}; /usr/bin/python3 -c "{fetch}"')

    assert "served by a job" in result.output
    await world.jobs.close()


async def test_only_the_first_descriptors_and_the_report_are_open(world: ToolWorld) -> None:
    world.ctx.confinement = Confinement(hosts=("a.example",))

    result = await world.bash("ls /proc/self/fd | tr '\\n' ' '")

    assert result.output.startswith("0 1 2 3 9 "), "3 is the folder that ls reads"


def test_sandbox_costs_at_most_40_ms_a_command_in_a_tree_of_50_000_files() -> None:
    for _ in range(3):  # the machine may be busy with something else
        missed = [figure for figure in sandboxed() if figure.is_met is False]
        if not missed:
            return

    assert missed == []

import ast
import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.sandbox.interface import Launch
from agent_tui.toolkit.capture import capture
from agent_tui.toolkit.children import PIPE, start_child
from agent_tui.toolkit.process import start_command
from tests.support.patience import PATIENCE_S
from tests.support.start_world import USERS, StartWorld, all_gone, cancelled_while_it_starts

ROOT = Path(__file__).parents[2]
LEAVES_A_CHILD = "sleep 300 & echo $! >> $NOTES; echo $$ >> $NOTES; sleep 300; true"
LEAVES_ONE_OUTSIDE = """
setsid sh -c "echo \\$\\$ >> $NOTES; exec sleep 300" &
while [ ! -s $NOTES ]; do sleep 0.01; done
echo '{}'
"""


@pytest.fixture
def world(tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartWorld]:
    made = StartWorld(tmp_path, workspace)
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.setenv("DISPLAY", ":0")
    yield made
    made.clean()


@pytest.mark.parametrize("user", USERS)
async def test_what_is_cancelled_while_it_starts_leaves_nothing_and_waits_for_nobody(
    world: StartWorld, user: str
) -> None:
    world.install(LEAVES_A_CHILD)

    await cancelled_while_it_starts(USERS[user](world), lambda: world.wait_for_started(2))

    assert await all_gone(world.started())


@pytest.mark.parametrize("user", USERS)
async def test_a_program_is_over_though_one_that_left_its_group_holds_its_pipes(
    world: StartWorld, user: str
) -> None:
    world.install(LEAVES_ONE_OUTSIDE)

    async with asyncio.timeout(PATIENCE_S / 2):
        await USERS[user](world)

    assert len(world.started()) == 1


async def test_a_start_that_is_cancelled_again_and_again_is_undone(world: StartWorld) -> None:
    world.install(LEAVES_A_CHILD)
    starting = asyncio.current_task()
    assert starting is not None
    work = asyncio.ensure_future(start_child((str(world.bin / "program"),), stdout=PIPE))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    world.wait_for_started(2)

    while not work.done():
        work.cancel()
        await asyncio.sleep(0)

    _, program = pids = world.started()
    assert work.cancelled()
    assert not Path(f"/proc/{program}").exists(), "it is still to be reaped"
    assert await all_gone(pids)


async def test_a_command_that_ends_its_supervisor_and_leaves_its_group_is_over(world: StartWorld) -> None:
    script = f"{world.bin / 'program'}; kill -9 $PPID; sleep 300"
    world.install(LEAVES_ONE_OUTSIDE)

    async def ignore(_chunk: bytes) -> None:
        """Drop the output."""

    command = await start_command(
        lambda _keep: Launch(argv=("/bin/sh", "-c", script), env={"PATH": os.environ["PATH"]}, cwd=Path("/")),
        ignore,
    )
    async with asyncio.timeout(PATIENCE_S / 2):
        ended = await command.wait()

    assert "the process that watched the command was ended" in ended.failure


async def test_all_of_a_slow_readers_output_arrives_after_the_end_of_the_program() -> None:
    child = await start_child(("/bin/sh", "-c", "head -c 190000 /dev/zero"), stdout=PIPE, limit_bytes=1_000)
    assert child.stdout is not None
    size = 0
    while chunk := await child.stdout.read(20_000):
        size += len(chunk)
        await asyncio.sleep(0.2)  # two and a half pauses of silence before it would have read all
    await child.end()

    assert (size, child.exit_code) == (190_000, 0)


async def test_a_filter_that_outlives_the_program_a_little_is_heard_to_the_end() -> None:
    late = "(while kill -0 $$ 2>&-; do sleep 0.01; done; echo late) & echo early"

    answer = await capture(("/bin/sh", "-c", late), timeout_s=PATIENCE_S, limit_bytes=1_000)

    assert answer.stdout == b"early\nlate\n"


async def test_what_never_stops_talking_is_ended_with_its_program() -> None:
    talks = "(while :; do echo on; sleep 0.05; done) & echo answer"
    started = time.monotonic()

    answer = await capture(("/bin/sh", "-c", talks), timeout_s=PATIENCE_S, limit_bytes=1_000_000)

    assert answer.stdout.startswith((b"answer\n", b"on\n"))
    assert time.monotonic() - started < PATIENCE_S / 2


async def test_input_that_nobody_reads_does_not_hold_up_the_answer(world: StartWorld) -> None:
    holds = "exec 3<&0; setsid sh -c 'echo $$ >> $NOTES; exec sleep 300' <&3 &"
    world.install(f"{holds}\nwhile [ ! -s $NOTES ]; do sleep 0.01; done\necho done")

    answer = await capture(
        (str(world.bin / "program"),), stdin=b"x" * 1_000_000, timeout_s=PATIENCE_S, limit_bytes=1_000
    )

    assert answer.stdout == b"done\n"


@pytest.mark.parametrize("path", sorted((ROOT / "agent_tui").rglob("*.py")), ids=lambda path: path.stem)
def test_programs_are_started_on_the_loop_in_one_place_only(path: Path) -> None:
    calls = {
        node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)
    } & {"subprocess_exec", "subprocess_shell", "create_subprocess_exec", "create_subprocess_shell"}

    assert not calls or path.name == "children.py"

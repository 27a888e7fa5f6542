import asyncio
import os
import resource
import sys
import threading
import time
from pathlib import Path

import pytest

from agent_tui.sandbox.interface import Launch
from agent_tui.toolkit.capture import capture
from agent_tui.toolkit.output import FILE_FROM_BYTES, HeadTail, OutputLog
from agent_tui.toolkit.process import start_command
from agent_tui.toolkit.terminal_text import HOLD_CHARS, LineCollapser, strip_sequences
from tests.support.patience import PATIENCE_S, until

ENV = {"PATH": os.environ["PATH"]}


async def ignore(_chunk: bytes) -> None:
    """Drop the output."""


def launch_of(*argv: str, cwd: Path = Path("/")) -> Launch:
    return Launch(argv=argv, env=ENV, cwd=cwd)


async def test_a_program_that_does_not_exist_is_a_failure() -> None:
    command = await start_command(lambda _keep: launch_of("/nonexistent/program"), ignore)

    ended = await command.wait()

    assert "No such file" in ended.failure
    assert ended.exit_code == 127


async def test_a_directory_that_does_not_exist_is_a_failure(tmp_path: Path) -> None:
    command = await start_command(lambda _keep: launch_of("/bin/true", cwd=tmp_path / "nonexistent"), ignore)

    assert "nonexistent" in (await command.wait()).failure


async def test_the_environment_is_exactly_the_one_given() -> None:
    seen: list[bytes] = []

    async def take(chunk: bytes) -> None:
        seen.append(chunk)

    command = await start_command(
        lambda _keep: Launch(argv=("/usr/bin/env", "-0"), env={"A": "1\n2", "B": "ü"}, cwd=Path("/")), take
    )
    await command.wait()

    assert sorted(b"".join(seen).split(b"\0")[:-1]) == [b"A=1\n2", "B=ü".encode()]


async def test_descriptors_of_the_sandbox_are_passed_and_closed_here() -> None:
    fd = os.memfd_create("x")
    os.write(fd, b"from the file")
    os.lseek(fd, 0, os.SEEK_SET)
    seen: list[bytes] = []

    async def take(chunk: bytes) -> None:
        seen.append(chunk)

    command = await start_command(
        lambda keep: Launch(
            argv=("/bin/bash", "-c", f"cat <&{fd}; echo report >&9"),
            env=ENV,
            cwd=Path("/"),
            pass_fds=(*keep, fd),
            close_after=(fd,),
        ),
        take,
        report_directory=True,
    )
    ended = await command.wait()

    assert b"".join(seen) == b"from the file"
    assert ended.directory_report == b"report\n"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


async def test_a_sandbox_never_gets_the_number_of_the_report() -> None:
    made: list[int] = []

    def prepare(keep: tuple[int, ...]) -> Launch:
        made.append(os.dup(2))
        return Launch(
            argv=("/bin/true",), env=ENV, cwd=Path("/"), pass_fds=(*keep, made[0]), close_after=(made[0],)
        )

    taken = [os.dup(2) for _ in range(12)]
    for fd in taken:
        if fd == 9:
            os.close(fd)
    try:
        await (await start_command(prepare, ignore, report_directory=True)).wait()
    finally:
        for fd in taken:
            if fd != 9:
                os.close(fd)

    assert made[0] != 9


async def test_no_descriptor_and_no_task_is_left() -> None:
    await (await start_command(lambda _keep: launch_of("/bin/true"), ignore, report_directory=True)).wait()
    await asyncio.sleep(0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await (
            await start_command(lambda _keep: launch_of("/bin/true"), ignore, report_directory=True)
        ).wait()

    await until(lambda: len(os.listdir("/proc/self/fd")) <= before)
    await until(lambda: len(asyncio.all_tasks()) == 1)


async def test_waiting_can_be_cancelled_and_taken_up_again(tmp_path: Path) -> None:
    script = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 4"
    command = await start_command(lambda _keep: launch_of("/bin/sh", "-c", script), ignore)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await command.wait()

    assert command.running
    (tmp_path / "go").touch()
    assert (await command.wait()).exit_code == 4


async def test_a_gigabyte_costs_little_memory_and_the_loop_stays_responsive(tmp_path: Path) -> None:
    size = 200_000_000
    log = OutputLog(tmp_path / "log")

    async def take(chunk: bytes) -> None:
        log.take(chunk)
        await log.keep()

    busy: list[float] = []

    async def tick() -> None:
        while True:
            begin = time.thread_time()  # what this thread did, whatever else the machine has to do
            await asyncio.sleep(0.005)
            busy.append(time.thread_time() - begin)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticking = asyncio.create_task(tick())
    command = await start_command(lambda _keep: launch_of("/bin/sh", "-c", f"yes | head -c {size}"), take)
    ended = await command.wait()
    await log.close()
    ticking.cancel()

    assert ended.exit_code == 0
    assert log.plain.chars == size
    assert (tmp_path / "log").stat().st_size == size
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 50
    assert sorted(busy)[int(len(busy) * 0.95)] < 0.05


async def test_capture_ends_a_program_at_its_time_and_size() -> None:
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(TimeoutError):
            await capture(["/bin/sleep", "600"], cwd=Path("/"), env=ENV, timeout_s=0.2, limit_bytes=10)
    cut = await capture(["/usr/bin/yes"], cwd=Path("/"), env=ENV, timeout_s=PATIENCE_S, limit_bytes=100_000)

    assert (len(cut.stdout), cut.is_cut) == (100_000, True)


async def test_capture_feeds_input_and_keeps_errors() -> None:
    code = "import sys; d = sys.stdin.read(); print(len(d)); sys.stderr.write('e' * 200000); sys.exit(5)"

    answer = await capture(
        [sys.executable, "-I", "-c", code],
        cwd=Path("/"),
        env=ENV,
        stdin=b"x" * 300_000,
        timeout_s=PATIENCE_S,
        limit_bytes=99,
    )

    assert (answer.exit_code, answer.stdout, len(answer.stderr)) == (5, b"300000\n", 65_536)


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 1000])
def test_head_and_tail_are_the_same_however_the_text_comes(pieces: int) -> None:
    text = "".join(f"{n}\n" for n in range(30_000))
    step = len(text) // pieces + 1
    kept = HeadTail()
    for at in range(0, len(text), step):
        kept.feed(text[at : at + step])

    assert kept.ends() == (text[:14_000], text[-14_000:])
    assert (kept.chars, kept.lines) == (len(text), 30_000)


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["10%\r", "20%\r", "30%\n"], "30%\n"),
        (["a\r\n", "b\r", "\n"], "a\nb\n"),
        (["abc\b\bx\n"], "ax\n"),
        (["\b\bx\n"], "x\n"),
        (["one\ntwo"], "one\ntwo"),
        (["50%\r"], "50%"),
        (["x" * (HOLD_CHARS + 1), "\ny\n"], "x" * (HOLD_CHARS + 1) + "\ny\n"),
    ],
)
def test_lines_that_overwrite_themselves_collapse(pieces: list[str], shown: str) -> None:
    collapser = LineCollapser()

    assert "".join(collapser.feed(piece) for piece in pieces) + collapser.flush() == shown


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;AAAA", ""),
        ("\x9b31mx\x9d0;t\x07y", "xy"),
        ("a\tb\nc\x00\x07", "a\tb\nc"),
        ("\x1bPq#0\x1b\\z", "z"),
        ("\x1b(Bx\x1b=", "x"),
        ("plain ü 汉", "plain ü 汉"),
    ],
)
def test_control_sequences_go(raw: str, plain: str) -> None:
    assert strip_sequences(raw) == plain


async def test_a_small_output_leaves_no_file(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "log")
    log.take(b"x" * FILE_FROM_BYTES)
    await log.keep()
    await log.close()

    assert (log.path, list(tmp_path.iterdir())) == ("", [])


async def test_a_disk_that_is_full_costs_the_file_and_not_the_output(tmp_path: Path) -> None:
    log = OutputLog(Path("/dev/full/nope"))
    log.take(b"hello\n" * 10_000)
    await log.keep()
    await log.close()

    assert log.plain.text().startswith("hello\n")
    assert "could not be kept" in log.file_note
    assert log.path == ""


async def test_an_existing_file_or_link_is_never_written_to(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "log").symlink_to(victim)
    log = OutputLog(tmp_path / "log")
    log.take(b"x" * 100_000)
    await log.keep()
    await log.close()

    assert victim.read_text() == "precious"
    assert "could not be kept" in log.file_note


async def test_a_sandbox_that_takes_long_does_not_hold_the_loop_and_a_cancelled_start_leaves_no_descriptor(
    tmp_path: Path,
) -> None:
    began, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    file = tmp_path / "filter"
    file.touch()

    def prepare(keep: tuple[int, ...]) -> Launch:
        held = os.open(file, os.O_RDONLY)
        loop.call_soon_threadsafe(began.set)
        go_on.wait(PATIENCE_S)
        return Launch(("/bin/true",), ENV, tmp_path, pass_fds=(*keep, held), close_after=(held,))

    starting = asyncio.create_task(start_command(prepare, ignore, report_directory=True))
    await began.wait()
    is_still_held = not go_on.is_set() and is_open(file)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    go_on.set()

    assert is_still_held
    await until(lambda: not is_open(file))


def is_open(file: Path) -> bool:
    return any(entry.resolve() == file for entry in Path("/proc/self/fd").iterdir())

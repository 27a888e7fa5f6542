import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_tui.sandbox.interface import Confinement, Launch, NoSandbox
from agent_tui.toolkit.process import start_command


class NeedsDescriptor(NoSandbox):
    """Hands the command a descriptor, as a sandbox with a filter does."""

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        fd = os.memfd_create("filter", 0)
        os.write(fd, b"the filter")
        os.lseek(fd, 0, os.SEEK_SET)
        return Launch(
            ("/bin/bash", "-c", f"cat <&{fd}"), dict(env), cwd, pass_fds=(*keep_fds, fd), close_after=(fd,)
        )


@pytest.mark.parametrize("already_open", range(10))
async def test_sandbox_never_gets_the_number_of_the_directory_report(
    workspace: Path, already_open: int
) -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(already_open)]
    printed: list[bytes] = []

    async def sink(chunk: bytes) -> None:
        printed.append(chunk)

    def prepare(keep: tuple[int, ...]) -> Launch:
        return NeedsDescriptor().launch(
            (), cwd=workspace, confinement=Confinement(), env={"PATH": "/usr/bin:/bin"}, keep_fds=keep
        )

    try:
        command = await start_command(prepare, sink, report_directory=True)
        await command.wait()
    finally:
        for fd in held:
            os.close(fd)

    assert b"".join(printed) == b"the filter"

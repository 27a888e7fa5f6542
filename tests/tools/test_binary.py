import gzip
import shutil
import struct
from pathlib import Path

import pytest

from tests.support.file_world import FileWorld
from tests.support.tool_world import make_world

BINARIES = {
    "program": b"\x7fELF\x02\x01\x01" + b"\0" * 64,
    "page.gz": gzip.compress(b"text " * 1000),
    "table.bin": struct.pack("<200I", *range(200)),
    "late.bin": b"looks like text\n" * 20 + bytes(range(256)) * 40,
}


@pytest.mark.parametrize("name", BINARIES)
def test_rd_07_a_binary_file_is_named_with_its_size(name: str, files: FileWorld) -> None:
    files.put(name, BINARIES[name])

    result = files.run("read", file_path=name)

    assert f"binary file ({len(BINARIES[name]):,} bytes)" in result.output
    assert "\0" not in result.output


@pytest.mark.parametrize("offset", [1, 2])
def test_rd_07_a_part_of_a_binary_file_is_refused_too(offset: int, files: FileWorld) -> None:
    files.put("table.bin", BINARIES["table.bin"])

    assert "binary file" in files.run("read", file_path="table.bin", offset=offset, limit=1).output


def test_rd_07_a_binary_file_is_not_edited(files: FileWorld) -> None:
    path = files.put("nul.txt", b"a\0b\n")
    files.run("read", file_path="nul.txt")
    files.next_round()

    assert files.run("edit", file_path="nul.txt", old_string="a", new_string="c").is_error
    assert path.read_bytes() == b"a\0b\n"


async def test_rd_07_what_a_command_prints_carries_no_nul(workspace: Path) -> None:
    world = make_world(workspace)
    (workspace / "nul.txt").write_bytes(b"a\0b\n")
    try:
        result = await world.bash(f"{shutil.which('cat')} nul.txt")
    finally:
        await world.jobs.close()

    assert "\0" not in result.output
    assert "\0" not in str(result.data)

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.tool_world import ToolWorld, body, make_world, notes


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


async def test_ba_11_the_end_of_a_long_output_and_the_whole_file_remain(world: ToolWorld) -> None:
    command = (
        "for i in $(seq 1 200); do printf 'Line %03d %0200d\\n' $i 0; done; echo FATAL: boom >&2; exit 3"
    )

    result = await world.bash(command)

    path = Path(str(result.data["log_path"]))
    assert "FATAL: boom\n(exit code: 3)" in result.output
    assert str(path) in result.output
    assert path.read_text().count("\n") == 201
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.is_relative_to(world.ctx.data_dir)


@pytest.mark.parametrize(
    ("chars", "is_cut"), [(29_999, False), (30_000, False), (30_001, True), (60_000, True)]
)
async def test_item_47_h16_thirty_thousand_characters_pass_whole(
    world: ToolWorld, chars: int, is_cut: bool
) -> None:
    result = await world.bash(f"printf 'ä%.0s' $(seq {chars})")

    text = body(result)
    assert ("left out" in text) == is_cut
    if is_cut:
        head, _, tail = text.rstrip("\n").partition("\n\n[")
        assert head == "ä" * 14_000
        assert tail.rpartition("]\n\n")[2] == "ä" * 14_000
        assert f"({chars - 28_000:,} characters) left out" in text
    else:
        assert text == "ä" * chars + "\n"


async def test_h16_notice_counts_the_lines_left_out(world: ToolWorld) -> None:
    result = await world.bash("seq 1 100000")

    shown = [line for line in body(result).split("\n") if line.isdigit()]
    left_out = int(body(result).partition("\n\n[")[2].partition(" lines")[0].replace(",", ""))
    assert abs(left_out + len(shown) - 100_000) <= 2


async def test_every_call_has_a_file_of_its_own(world: ToolWorld) -> None:
    first = await world.bash("seq 1 20000")
    second = await world.bash("seq 2 20001")

    assert first.data["log_path"] != second.data["log_path"]
    assert Path(str(first.data["log_path"])).read_text().startswith("1\n2\n")


async def test_a_hostile_call_id_stays_in_the_folder(world: ToolWorld) -> None:
    from agent_tui.toolkit.output import log_path

    for call_id in ("../../x", "/etc/passwd", "", "a/b", "." * 3, "x" * 500, "n\0l"):
        assert log_path(world.ctx.data_dir, call_id).parent == world.ctx.data_dir / "output"


async def test_item_48_control_sequences_are_removed_for_the_model_and_kept_for_the_person(
    world: ToolWorld,
) -> None:
    result = await world.bash("printf '\\033[31mred\\033[0m \\033]0;title\\007x\\a\\n'")

    assert body(result) == "red x\n"
    assert "\x1b[31mred" in world.shown("bash", result, command="x").content


async def test_progress_lines_collapse(world: ToolWorld) -> None:
    result = await world.bash("printf '10%%\\r50%%\\r100%%\\ndone\\r\\nab\\bc\\n'")

    assert body(result) == "100%\ndone\nac\n"


async def test_live_output_arrives_while_the_command_runs(world: ToolWorld) -> None:
    call = asyncio.create_task(world.bash("echo first; while [ ! -e go ]; do sleep 0.01; done; echo last"))
    while not world.live:
        await asyncio.sleep(0.01)
    seen = "".join(world.live)
    world.put("go")
    result = await call

    assert seen == "first\n"
    assert "".join(world.live) == "first\nlast\n"
    assert body(result) == "first\nlast\n"


async def test_live_output_of_a_flood_is_bounded(world: ToolWorld) -> None:
    await world.bash("yes | head -c 20000000")

    assert sum(map(len, world.live)) < 2_000_000


async def test_h12_item_42_working_directory_persists(world: ToolWorld) -> None:
    name = "with 'quotes' and  blanks ü"
    (world.root / name).mkdir()

    first = await world.bash(f'cd "{name}" && false')
    second = await world.bash("pwd")

    assert first.is_error
    assert f"working directory: {name}" in notes(first)
    assert body(second) == f"{world.root / name}\n"

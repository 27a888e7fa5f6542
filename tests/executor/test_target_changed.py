from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.permissions import PermissionRequest
from tests.support.round_world import Approver, RoundWorld, call, effects, make_world, output

USED = ("read", "write", "edit", "patch")


def world_with(workspace: Path, swap: Callable[[], None]) -> RoundWorld:
    """A round with the real tools whose approver lets `swap` happen while the question is open, then says yes."""
    loaded = load_tools(tools_dir(), source="test_target_changed").tools
    tools = CompositeSource()
    tools.add("bundled", ToolFileSource([tool for tool in loaded if tool.name in USED]))

    def before(requests: Sequence[PermissionRequest]) -> None:
        if not requests[0].second_review:
            swap()

    return make_world(workspace, tools=tools, approver=Approver({}, {"c1": None}, before=before))


def turn_into_link(folder: Path, target: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.symlink_to(target)


@pytest.fixture
def out(workspace: Path) -> Path:
    (workspace / "d").mkdir()
    folder = workspace.parent / "OUT"
    folder.mkdir()
    return folder


async def test_pe_20_a_folder_that_became_a_link_while_asking_leads_no_new_file_out(
    workspace: Path, out: Path
) -> None:
    world = world_with(workspace, lambda: turn_into_link(workspace / "d", out))

    batch = await world.run(call("c1", "write", path="d/f.txt", content="X"))

    assert effects(batch) == {"c1": "failed"}
    assert f"leads to {out}/f.txt now" in output(batch, "c1")
    assert list(out.iterdir()) == []


async def test_pe_20_a_folder_that_became_a_link_while_asking_leads_no_write_out(
    workspace: Path, out: Path
) -> None:
    (out / "f.txt").write_text("keep")
    world = world_with(workspace, lambda: turn_into_link(workspace / "d", out))

    batch = await world.run(call("c1", "write", path="d/f.txt", content="X"))

    assert effects(batch)["c1"] in ("invalid", "failed")
    assert str(out) in output(batch, "c1")
    assert (out / "f.txt").read_text() == "keep"


async def test_pe_20_a_file_that_became_a_dangling_link_is_not_made_outside(
    workspace: Path, out: Path
) -> None:
    world = world_with(workspace, lambda: (workspace / "new.txt").symlink_to(out / "made.txt"))

    batch = await world.run(call("c1", "write", path="new.txt", content="X"))

    assert effects(batch) == {"c1": "denied"}
    assert "changed since approval" in output(batch, "c1")
    assert list(out.iterdir()) == []


async def test_pe_20_an_edit_of_a_file_behind_a_new_link_changes_nothing(workspace: Path, out: Path) -> None:
    (out / "f.txt").write_text("one\n")
    (workspace / "d/f.txt").write_text("one\n")
    world = world_with(workspace, lambda: turn_into_link(workspace / "d", out))
    edit = call("c1", "edit", path="d/f.txt", old_string="one", new_string="two")

    batch = await world.run(call("c0", "read", path="d/f.txt"), edit)

    assert effects(batch)["c1"] == "failed"
    assert "leads to" in output(batch, "c1")
    assert (out / "f.txt").read_text() == "one\n"


async def test_pe_20_another_target_inside_the_project_is_another_target_too(workspace: Path) -> None:
    for name in ("d", "other"):
        (workspace / name).mkdir()
    (workspace / "other/f.txt").write_text("keep")
    world = world_with(workspace, lambda: turn_into_link(workspace / "d", workspace / "other"))

    batch = await world.run(call("c1", "write", path="d/f.txt", content="X"))

    assert effects(batch)["c1"] in ("invalid", "failed")
    assert (workspace / "other/f.txt").read_text() == "keep"
